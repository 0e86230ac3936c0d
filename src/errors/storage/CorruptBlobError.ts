import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** The bytes of a blob are not those that its reference names. */
export class CorruptBlobError extends AgentPersistenceError {
  override readonly code = "corrupt_blob";
  readonly agentId: string;
  readonly reference: string;

  constructor(
    agentId: string,
    reference: string,
    found = "does not have the hash in its reference",
    options?: ErrorOptions,
  ) {
    super(
      `The content of ${reference} of agent ${JSON.stringify(agentId)} ${found}. Restore the file from a backup.`,
      options,
    );
    this.agentId = agentId;
    this.reference = reference;
  }
}
