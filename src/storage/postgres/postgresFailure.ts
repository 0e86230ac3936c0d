import type { StorageFailure } from "../../errors/storageErrors.ts";

/** Maps SQLSTATE codes or their classes to failures. The longest match wins. */
const reasons: Readonly<Record<string, StorageFailure>> = {
  // The connection failed.
  "08": "unavailable",
  // A conflict with another transaction.
  "40": "unavailable",
  // Too many connections, or out of memory.
  "53": "unavailable",
  "53100": "full",
  // A lock timeout, or an object in use.
  "55": "unavailable",
  // The server is starting or shutting down, or the statement was canceled.
  "57": "unavailable",
  // A server that became read-only in a failover. A retry reaches its successor.
  "25006": "unavailable",
  // A failed login, or missing privileges on a table.
  "28": "permission",
  "42501": "permission",
  "58": "io",
};

const grants =
  "Grant the role of the client USAGE on the schema, SELECT, INSERT, UPDATE and DELETE on its tables, and EXECUTE on its functions. To create them, it also needs CREATE.";
const noTables =
  "The tables are missing or have another version. Run migrate() of the storage, or the statements of postgresMigrations(), with a role that may create tables.";
const noNames =
  "A pooler in transaction mode does not support named statements. Pass preparedStatements: false, and prepare: false to postgres.js.";

/** Advice for server errors that need more than the advice of their category. */
const advice: Readonly<Record<string, string>> = {
  "42501": grants,
  "42P01": noTables,
  "3F000": noTables,
  "42703": noTables,
  "42883": noTables,
  // A statement with this name is missing or different.
  "26000": noNames,
  "42P05": noNames,
};

const noClient = "The client was ended. Pass a connected client, and end it after the last use of the storage.";
/** Messages of `pg` for a pool or client after `end()`. A retry cannot help. */
const endedClient = /after calling end on the pool|Client was closed and is not queryable/;

const sqlState = /^[0-9A-Z]{5}$/;

/** Classifies an error of a driver. An error without SQLSTATE is a network or pool error. */
export function postgresFailure(error: unknown): StorageFailure {
  const code = sqlStateOf(error);
  if (isEnded(error)) return "io";
  return code === undefined ? "unavailable" : (reasons[code] ?? reasons[code.slice(0, 2)] ?? "io");
}

export function postgresAdvice(error: unknown): string | undefined {
  return isEnded(error) ? noClient : advice[sqlStateOf(error) ?? ""];
}

function isEnded(error: unknown): boolean {
  return error instanceof Error && endedClient.test(error.message);
}

export function isMissingTable(error: unknown): boolean {
  return ["42P01", "3F000"].includes(sqlStateOf(error) ?? "");
}

function sqlStateOf(error: unknown): string | undefined {
  const { code } = Object(error) as { readonly code?: unknown };
  // System error codes such as EPIPE may also have five letters.
  return typeof code === "string" && sqlState.test(code) && /\d/.test(code) ? code : undefined;
}
