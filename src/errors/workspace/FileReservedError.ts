import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** An owner that holds a file. */
export interface FileHolder {
  readonly owner: string;
  readonly operation: "read" | "write";
  /** ISO 8601; empty when it is not known. */
  readonly expiresAt: string;
}

/** A file is reserved by others and was not released in time. Nothing was reserved. */
export class FileReservedError extends AgentPersistenceError {
  override readonly code = "file_reserved";

  constructor(
    /** Relative to the root of the workspace. */
    readonly path: string,
    /** What the file was to be reserved for. */
    readonly operation: "read" | "write",
    /** The owners that hold the file; empty when earlier requests are still waiting for it. */
    readonly holders: readonly FileHolder[],
  ) {
    const found = holders.length === 0 ? "earlier requests are waiting for it" : holders.map(describe).join(", ");
    super(
      `${JSON.stringify(path)} cannot be reserved to ${operation} it: ${found}. ` +
        "Wait longer with `timeoutMs`, or ask the owner to release it.",
    );
  }
}

function describe({ owner, operation, expiresAt }: FileHolder): string {
  return `${quoted(owner)} holds it to ${operation} it${expiresAt && ` until ${expiresAt}`}`;
}
