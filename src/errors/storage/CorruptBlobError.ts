import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import type { ErrorCause } from "../ErrorCause.ts";
import { quoted } from "../quoted.ts";

/** The bytes of a blob do not match its reference. */
export class CorruptBlobError extends AgentPersistenceError {
  override readonly code = "corrupt_blob";

  constructor(
    readonly agentId: string,
    /** The reference of the blob, such as `blob://<SHA-256>-<n>`. */
    readonly reference: string,
    found = "does not have the hash in its reference",
    options?: ErrorCause,
  ) {
    super(`The content of ${reference} of agent ${quoted(agentId)} ${found}. Restore the file from a backup.`, options);
  }
}
