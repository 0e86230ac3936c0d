import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** The run waits for somebody outside; what belonged to the node that asked cannot be used any more in this process. */
export class RunSuspendedError extends AgentPersistenceError {
  override readonly code = "run_suspended";
  /** The node that asked. */
  readonly nodeId: string;

  constructor(nodeId: string) {
    super(
      `The run waits for what node "${nodeId}" asked for, so its context is closed. The node runs again from its start when the run is resumed.`,
    );
    this.nodeId = nodeId;
  }
}
