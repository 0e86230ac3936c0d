import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** An owner that holds a file. */
export interface FileHolder {
  readonly owner: string;
  readonly operation: "read" | "write";
  /** In ISO 8601. Empty if unknown. */
  readonly expiresAt: string;
}

/** Other owners reserved a file and did not release it in time. The file was not reserved. */
export class FileReservedError extends AgentPersistenceError {
  override readonly code = "file_reserved";

  constructor(
    /** Relative to the root of the workspace. */
    readonly path: string,
    /** The requested kind of access. */
    readonly operation: "read" | "write",
    /** The owners that hold the file. Empty if earlier requests are still waiting for the file. */
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
