import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { TaskStatus, StateData } from "../status/TaskStatus.ts";
import type { StatusState } from "./StatusState.ts";

/** Returns the status data in the summary of an agent. {@link inProgressData} returns more for a running agent. */
export function stateDataOf(agentId: string, state: StatusState): unknown {
  const status = state.current?.status;
  return status === undefined ? {} : dataOf[status](state, agentId);
}

/**
 * Returns the status data of a running agent. While branches run, `currentStep` is the parallel node. `agentName` is
 * the value of `currentAgent` outside of subgraphs and tasks.
 */
export function inProgressData(state: StatusState, agentName: string): StateData["in_progress"] {
  const { current, checkpoint, startedAt = 0, activeAt = 0 } = state;
  const { node, iteration, at } = checkpoint?.record ?? { node: "start", iteration: 0, at: 0 };
  return {
    currentAgent: node.split("/").slice(0, -1).join("/") || (state.task?.name ?? agentName),
    currentStep: node,
    iterationCount: iteration,
    startedAt: iso(startedAt),
    lastActivityAt: iso(Math.max(startedAt, current?.at ?? 0, at, activeAt)),
    accumulatedContext: checkpoint?.id ?? "",
  };
}

type DataOf<Status extends TaskStatus> = Status extends "in_progress"
  ? Pick<StateData["in_progress"], "startedAt">
  : StateData[Status];

const dataOf: { readonly [Status in TaskStatus]: (state: StatusState, agentId: string) => DataOf<Status> } = {
  queued: ({ task, run, createdAt }, taskId) =>
    withoutUndefined({
      taskId,
      createdAt: iso(createdAt),
      priority: task?.priority ?? 0,
      estimatedComplexity: task?.complexity,
      inputRequest: run?.input,
      reserves: task?.reserves,
    }),
  in_progress: ({ startedAt }) => ({ startedAt: iso(startedAt) }),
  paused: ({ current, checkpoint }) =>
    withoutUndefined({
      pausedAt: iso(current?.at),
      pauseReason: current?.record?.reason ?? "",
      resumeInstructions: current?.record?.instructions,
      snapshot: checkpoint?.id ?? "",
    }),
  waiting({ current }) {
    const { waitingFor = "user_input", prompt = "", until } = current?.record ?? {};
    return { waitingFor, promptShownToUser: prompt, ...(until !== undefined && { timeoutAt: iso(until) }) };
  },
  completed: ({ current, checkpoint }) => ({
    completedAt: iso(current?.at),
    finalOutput: checkpoint?.record.input,
    filesModified: (checkpoint?.record.files ?? []) as readonly string[],
    verificationResults: checkpoint?.record.verification ?? [],
  }),
  failed({ current, retries }) {
    const { error, recoverable = true } = current?.record ?? {};
    const { name = "Error", message = "", stack } = error ?? {};
    return withoutUndefined({
      failedAt: iso(current?.at),
      errorType: name,
      errorMessage: message,
      stackTrace: stack,
      recoverable,
      retryCount: retries,
    });
  },
  cancelled: ({ current, checkpoint }) =>
    withoutUndefined({ cancelledAt: iso(current?.at), reason: checkpoint?.record.reason }),
};

function iso(at: number | undefined): string {
  return new Date(at ?? 0).toISOString();
}
