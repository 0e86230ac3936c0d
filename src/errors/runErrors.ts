import { AgentPersistenceError, type ErrorCause, quotedList, quoted } from "./AgentPersistenceError.ts";

/** A parallel node of a resumed run lacks branches that already started. The log is unchanged. */
export class BranchesChangedError extends AgentPersistenceError {
  override readonly code = "branches_changed";

  constructor(
    readonly agentId: string,
    readonly nodeId: string,
    /** The keys of the started branches that the node no longer has. */
    readonly missing: readonly string[],
    /** The current branch keys of the node. */
    readonly keys: readonly string[],
  ) {
    super(
      `Node "${nodeId}" no longer has its started branches ${quotedList(missing)}. It now has the branches ${quotedList(keys) || "(none)"}. ` +
        `The key of an item must not change between attempts, so derive it only from the item. ` +
        `Restore the earlier keys and resume. Or discard the results of the branches: ` +
        `persistence(agent).agent(${quoted(agentId)}).setExecutionPoint({ nodeId: ${quoted(nodeId)}, input }).`,
    );
  }
}

/** A node used its context after the run left the node, because the node finished or the execution point moved. */
export class ExecutionMovedError extends AgentPersistenceError {
  override readonly code = "run_moved";

  constructor(
    /** The path of the node that the run left. */
    readonly nodeId: string,
    options?: ErrorCause,
  ) {
    super(
      `The context of node "${nodeId}" is closed, because the node finished or the execution point moved. Use a context only until its node finishes, and return from the node right after a move.`,
      options,
    );
  }
}

/** A repeated node makes a different request than in its first attempt, but calls of the first attempt took effect. */
export class ReplayDivergedError extends AgentPersistenceError {
  override readonly code = "replay_diverged";

  constructor(
    readonly agentId: string,
    readonly nodeId: string,
    readonly recorded: string,
    readonly found: string,
    /** The calls of the first attempt that took effect. With `inDoubt`, it is unknown whether the call took effect. */
    readonly effects: readonly { readonly toolCallId: string; readonly toolName: string; readonly inDoubt: boolean }[],
    /** Sentences for the message about other ways to continue. Defaults to the ways for an agent. */
    wayOut: string = wayOutOfAgent(agentId, nodeId),
  ) {
    const calls = effects.map(
      ({ toolName, toolCallId, inDoubt }) => `${toolName} (${toolCallId}${inDoubt ? ", in doubt" : ""})`,
    );
    super(
      `Node "${nodeId}" runs again and requests ${found}, but ${recorded} is recorded. Earlier calls took effect: ` +
        `${calls.join(", ")}. Make the node repeat the recorded request. ${wayOut}`,
    );
  }
}

function wayOutOfAgent(agentId: string, nodeId: string): string {
  const stored = `persistence(agent).agent(${quoted(agentId)})`;
  return (
    `Or keep the effects and restart the node: ${stored}.setExecutionPoint({ nodeId: ${quoted(nodeId)}, input }). ` +
    `Or revert the effects: ${stored}.rollbackToLatestCheckpoint(). Then resume.`
  );
}

/** The `runId` already belongs to a run with a different input. The stored state is unchanged. */
export class RunInputDiffersError extends AgentPersistenceError {
  override readonly code = "run_input_differs";

  constructor(
    readonly agentId: string,
    readonly runId: string,
  ) {
    super(
      `Run ${quoted(runId)} of agent ${quoted(agentId)} was started with another input. ` +
        `Give each run a unique runId. To continue that run, call resume({ agentId }), or run it with the original input.`,
    );
  }
}

/** The agent has no run to cancel or resume. The stored state is unchanged. */
export class RunNotOpenError extends AgentPersistenceError {
  constructor(
    override readonly code: "nothing_to_cancel" | "nothing_to_resume",
    readonly agentId: string,
    reason: string,
  ) {
    const id = quoted(agentId);
    super(
      code === "nothing_to_cancel"
        ? `Agent ${id} has no run to cancel: ${reason}. No action is required.`
        : `Agent ${id} has no run to resume: ${reason}. Start a run with run(input, { agentId: ${id} }).`,
    );
  }
}

/** A run in another process stopped before it finished. The caller waited for this run and gets no result. */
export class RunStoppedError extends AgentPersistenceError {
  override readonly code = "run_stopped";

  constructor(
    readonly agentId: string,
    readonly status: string,
  ) {
    super(
      `The run of agent ${quoted(agentId)} is ${status} and does not continue automatically. Resume it to continue.`,
    );
  }
}

/** The run waits for an answer. The node that made the request can no longer use its context in this process. */
export class RunSuspendedError extends AgentPersistenceError {
  override readonly code = "run_suspended";

  constructor(readonly nodeId: string) {
    super(
      `The context of node "${nodeId}" is closed, because the run waits for input that the node requested. Resume the run when the request is answered.`,
    );
  }
}

/** `resume` was limited to certain statuses, but the agent has a different status. The stored state is unchanged. */
export class StatusChangedError extends AgentPersistenceError {
  override readonly code = "status_changed";

  constructor(
    readonly agentId: string,
    /** The current status. `undefined` if the agent is not stored. */
    readonly status: string | undefined,
    readonly expected: readonly string[],
  ) {
    super(
      `Agent ${quoted(agentId)} was not resumed, because it is ${status ?? "not stored"} and ` +
        `the caller expected ${expected.join(" or ")}. Read the status again before you decide.`,
    );
  }
}

/** A caller requested that the owner of the agent stops. The owner may still append before it releases the agent. */
export class StopRequestedError extends AgentPersistenceError {
  override readonly code = "stop_requested";

  constructor(
    readonly agentId: string,
    readonly reason: string,
  ) {
    super(
      `Agent ${quoted(agentId)} was requested to stop: ${reason}. The status of the agent shows whether you can resume the run.`,
    );
  }
}

/** Another run was requested while the agent has an unfinished run. The stored state is unchanged. */
export class UnfinishedRunError extends AgentPersistenceError {
  override readonly code = "unfinished_run";

  constructor(
    readonly agentId: string,
    readonly runId: string,
    /** True if that run waits for answers or timers and cannot continue yet. */
    readonly waits: boolean,
  ) {
    const run = quoted(runId);
    const way = waits
      ? `waits for an answer or a timer. Answer the requests that getRequests() lists, or wait until its timers are due, then resume. Or set unfinished: "abandon".`
      : `is unfinished. Resume it with resume(), or with the original input and the runId ${run}. ` +
        `Or set unfinished: "finish_first" | "abandon".`;
    super(`Agent ${quoted(agentId)} cannot start another run, because run ${run} ${way}`);
  }
}

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
