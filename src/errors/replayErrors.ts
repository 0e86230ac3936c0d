import { AgentPersistenceError, quoted, quotedList } from "./AgentPersistenceError.ts";

/** The log of the agent does not contain the run. */
export class RunNotFoundError extends AgentPersistenceError {
  override readonly code = "run_not_found";
  /** The ids of the newest runs, newest last. At most ten. */
  readonly available: readonly string[];

  constructor(
    readonly agentId: string,
    readonly runId: string,
    available: readonly string[],
  ) {
    const newest = available.slice(-10);
    const next =
      newest.length === 0 ? "Check the agent id and the storage" : `Choose one of the newest: ${quotedList(newest)}`;
    super(`Agent ${quoted(agentId)} has no run${runId === "" ? "" : ` ${quoted(runId)}`}. ${next}.`);
    this.available = newest;
  }
}

/** A run cannot be replayed, because retention has deleted some of its checkpoints. The storage is unchanged. */
export class RecordingPrunedError extends AgentPersistenceError {
  override readonly code = "recording_pruned";

  constructor(
    readonly agentId: string,
    readonly runId: string,
  ) {
    super(
      `Run ${quoted(runId)} of agent ${quoted(agentId)} cannot be replayed, because its log was pruned. ` +
        `Save a fixture of a run before its checkpoints are pruned, or keep more of them with the option retention.`,
    );
  }
}
