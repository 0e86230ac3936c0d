import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import type { ErrorCause } from "../ErrorCause.ts";
import { quoted } from "../quoted.ts";

/** The bytes of a blob do not match the reference. */
export class CorruptBlobError extends AgentPersistenceError {
  override readonly code = "corrupt_blob";

  constructor(
    readonly agentId: string,
    /** The reference of the blob, such as `blob://<SHA-256>-<n>`. */
    readonly reference: string,
    found = "does not have the hash in its reference",
    options?: CorruptBlobOptions,
  ) {
    const place = options?.place === undefined ? "" : ` in ${options.place}`;
    super(
      `The content of ${reference} of agent ${quoted(agentId)}${place} ${found}. Restore it from a backup.`,
      options,
    );
  }
}

interface CorruptBlobOptions extends ErrorCause {
  /** The location of the content, such as a file path. If omitted, the message names no location. */
  readonly place?: string | undefined;
}
