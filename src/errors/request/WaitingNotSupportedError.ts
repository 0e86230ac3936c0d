import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A node asked for input, but the storage cannot keep a request until it is answered. Nothing has changed. */
export class WaitingNotSupportedError extends AgentPersistenceError {
  override readonly code = "waiting_not_supported";

  constructor(
    readonly agentId: string,
    /** The path of the node that asked. */
    readonly nodeId: string,
  ) {
    super(
      `Node "${nodeId}" of agent ${quoted(agentId)} asked for input, but the agent's storage keeps no requests: it is a three-method storage, or stores nothing. Use a storage with a log, such as FilePersistenceStorageProvider.`,
    );
  }
}
