import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** The agent has a run that has not ended, and another was asked for. Nothing has changed. */
export class UnfinishedRunError extends AgentPersistenceError {
  readonly code = "unfinished_run";
  readonly agentId: string;
  /** The run that has not ended. */
  readonly runId: string;

  constructor(agentId: string, runId: string) {
    super(
      `Agent ${JSON.stringify(agentId)} has an unfinished run ${JSON.stringify(runId)}, and this is another. ` +
        `Resume that one with resume({ agentId }) or run(input, { runId: ${JSON.stringify(runId)} }), ` +
        `or say what to do about it: unfinished: "finish_first" | "abandon".`,
    );
    this.agentId = agentId;
    this.runId = runId;
  }
}
