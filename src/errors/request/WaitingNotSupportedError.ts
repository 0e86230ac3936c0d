import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A node requested input, but the storage cannot store open requests. The stored state is unchanged. */
export class WaitingNotSupportedError extends AgentPersistenceError {
  override readonly code = "waiting_not_supported";

  constructor(
    readonly agentId: string,
    /** The path of the node. */
    readonly nodeId: string,
  ) {
    super(
      `Node "${nodeId}" of agent ${quoted(agentId)} requested input, but the agent's storage cannot store open requests. Use a storage with a log, such as FilePersistenceStorageProvider.`,
    );
  }
}
