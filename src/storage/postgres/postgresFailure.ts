import type { StorageFailure } from "../../errors/storage/StorageError.ts";

/** By the SQLSTATE, or by its class: the longest that fits counts. */
const reasons: Readonly<Record<string, StorageFailure>> = {
  // The connection broke, or could not be made.
  "08": "unavailable",
  // A conflict with another transaction.
  "40": "unavailable",
  // Too many connections, or no memory.
  "53": "unavailable",
  "53100": "full",
  // A lock that was waited for too long, or an object in use.
  "55": "unavailable",
  // The server shuts down or starts, or the statement was canceled.
  "57": "unavailable",
  // This server only reads: its successor is asked next.
  "25006": "unavailable",
  // Who may not log in, or may not use a table.
  "28": "permission",
  "42501": "permission",
  // A device that failed.
  "58": "io",
};

const grants =
  "Grant the role of the client USAGE on the schema, SELECT, INSERT, UPDATE and DELETE on its tables, and EXECUTE on its functions. To make them, it also needs CREATE.";
const noTables =
  "The tables are gone, or of another version. Run migrate() of the storage, or the statements of postgresMigrations(), with a role that may create tables.";
const noNames =
  "A pooler in transaction mode keeps no statements with names. Pass preparedStatements: false, and prepare: false to postgres.js.";

/** What helps against an error of the server where its reason alone does not say it. */
const advice: Readonly<Record<string, string>> = {
  "42501": grants,
  "42P01": noTables,
  "3F000": noTables,
  "42703": noTables,
  "42883": noTables,
  // A statement with this name is not there, or is another one.
  "26000": noNames,
  "42P05": noNames,
};

const sqlState = /^[0-9A-Z]{5}$/;

/** What an error of a driver means. One without a SQLSTATE comes from the network, or from the driver's pool. */
export function postgresFailure(error: unknown): StorageFailure {
  const code = sqlStateOf(error);
  return code === undefined ? "unavailable" : (reasons[code] ?? reasons[code.slice(0, 2)] ?? "io");
}

/** What to do about an error of a driver. `undefined`: what its reason says. */
export function postgresAdvice(error: unknown): string | undefined {
  return advice[sqlStateOf(error) ?? ""];
}

/** Whether an error says that a table or its schema is not there. */
export function isMissing(error: unknown): boolean {
  return ["42P01", "3F000"].includes(sqlStateOf(error) ?? "");
}

function sqlStateOf(error: unknown): string | undefined {
  const { code } = Object(error) as { readonly code?: unknown };
  // Errors of a system have codes of five letters too, such as EPIPE.
  return typeof code === "string" && sqlState.test(code) && /\d/.test(code) ? code : undefined;
}
