import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** Who has a file, as an error names it. */
export interface FileHolder {
  readonly owner: string;
  readonly operation: "read" | "write";
  /** ISO 8601; empty when it is not known. */
  readonly expiresAt: string;
}

/** A file is reserved by others and did not get free in time. Nothing was reserved. */
export class FileReservedError extends AgentPersistenceError {
  override readonly code = "file_reserved";
  readonly path: string;
  readonly operation: "read" | "write";
  /** Who holds the file; empty when only others that came before wait for it. */
  readonly holders: readonly FileHolder[];

  constructor(path: string, operation: "read" | "write", holders: readonly FileHolder[]) {
    super(
      `${JSON.stringify(path)} cannot be reserved to ${operation} it: ${describe(holders)}. ` +
        "Wait longer with `timeoutMs`, or ask the owner to release it.",
    );
    this.path = path;
    this.operation = operation;
    this.holders = holders;
  }
}

function describe(holders: readonly FileHolder[]): string {
  if (holders.length === 0) return "others that came before wait for it";
  return holders
    .map(
      ({ owner, operation, expiresAt }) =>
        `${JSON.stringify(owner)} has it to ${operation} it${expiresAt && ` until ${expiresAt}`}`,
    )
    .join(", ");
}
