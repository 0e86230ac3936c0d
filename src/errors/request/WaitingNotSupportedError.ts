import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A node asked for input on a storage that cannot keep a request until it is answered. Nothing has changed. */
export class WaitingNotSupportedError extends AgentPersistenceError {
  override readonly code = "waiting_not_supported";
  readonly agentId: string;
  /** The node that asked. */
  readonly nodeId: string;

  constructor(agentId: string, nodeId: string) {
    super(
      `The node "${nodeId}" of agent ${JSON.stringify(agentId)} asked for input, and the storage of the agent keeps no requests: it has three methods, or stores nothing. Use a storage with a log, such as FilePersistenceStorageProvider.`,
    );
    this.agentId = agentId;
    this.nodeId = nodeId;
  }
}
