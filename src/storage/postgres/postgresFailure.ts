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

const sqlState = /^[0-9A-Z]{5}$/;

/** What an error of a driver means. One without a SQLSTATE comes from the network, or from the driver's pool. */
export function postgresFailure(error: unknown): StorageFailure {
  const code = sqlStateOf(error);
  return code === undefined ? "unavailable" : (reasons[code] ?? reasons[code.slice(0, 2)] ?? "io");
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
