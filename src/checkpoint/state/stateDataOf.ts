import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { StateData } from "../status/StateData.ts";
import type { TaskStatus } from "../status/TaskStatus.ts";
import type { StatusState } from "./StatusState.ts";

/**
 * The data of an agent's status, as its summary contains it: values are in their stored form. While the agent is in
 * progress it has only what does not change with each step; {@link inProgressData} has the rest.
 */
export function stateDataOf(agentId: string, state: StatusState): unknown {
  const status = state.current?.status;
  return status === undefined ? {} : dataOf[status](state, agentId);
}

/**
 * All data of an agent that is in progress.
 *
 * @param agentName used as `currentAgent` when the agent is not a task.
 */
export function inProgressData(state: StatusState, agentName: string): StateData["in_progress"] {
  const { current, checkpoint, startedAt = 0 } = state;
  const { node, iteration, at } = checkpoint?.record ?? { node: "start", iteration: 0, at: 0 };
  return {
    currentAgent: state.task?.name ?? agentName,
    currentStep: node,
    iterationCount: iteration,
    startedAt: iso(startedAt),
    lastActivityAt: iso(Math.max(startedAt, current?.at ?? 0, at)),
    accumulatedContext: checkpoint?.id ?? "",
  };
}

type DataOf<Status extends TaskStatus> = (state: StatusState, agentId: string) => StateData[Status];

const queuedData: DataOf<"queued"> = ({ task, run, createdAt }, taskId) =>
  withoutUndefined({
    taskId,
    createdAt: iso(createdAt),
    priority: task?.priority ?? 0,
    estimatedComplexity: task?.complexity,
    inputRequest: run?.input,
    reserves: task?.reserves,
  });

const startedData = ({ startedAt }: StatusState): Pick<StateData["in_progress"], "startedAt"> => ({
  startedAt: iso(startedAt),
});

const pausedData: DataOf<"paused"> = ({ current, checkpoint }) =>
  withoutUndefined({
    pausedAt: iso(current?.at),
    pauseReason: current?.record?.reason ?? "",
    resumeInstructions: current?.record?.instructions,
    snapshot: checkpoint?.id ?? "",
  });

const waitingData: DataOf<"waiting"> = ({ current }) => {
  const { waitingFor = "user_input", prompt = "", until } = current?.record ?? {};
  return {
    waitingFor,
    promptShownToUser: prompt,
    ...(until !== undefined && { timeoutAt: iso(until) }),
  };
};

const completedData: DataOf<"completed"> = ({ current, checkpoint }) => ({
  completedAt: iso(current?.at),
  finalOutput: checkpoint?.record.input,
  filesModified: (checkpoint?.record.files ?? []) as readonly string[],
  verificationResults: checkpoint?.record.verification ?? [],
});

const failedData: DataOf<"failed"> = ({ current, retries }) => {
  const { error, recoverable = true } = current?.record ?? {};
  const { name = "Error", message = "", stack } = error ?? {};
  return {
    failedAt: iso(current?.at),
    errorType: name,
    errorMessage: message,
    ...(stack !== undefined && { stackTrace: stack }),
    recoverable,
    retryCount: retries,
  };
};

const cancelledData: DataOf<"cancelled"> = ({ current, checkpoint }) =>
  withoutUndefined({ cancelledAt: iso(current?.at), reason: checkpoint?.record.reason });

const dataOf: Readonly<Record<TaskStatus, (state: StatusState, agentId: string) => unknown>> = {
  queued: queuedData,
  in_progress: startedData,
  paused: pausedData,
  waiting: waitingData,
  completed: completedData,
  failed: failedData,
  cancelled: cancelledData,
};

function iso(at: number | undefined): string {
  return new Date(at ?? 0).toISOString();
}
