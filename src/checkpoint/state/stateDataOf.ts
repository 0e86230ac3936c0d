import type { StatusState } from "./StatusState.ts";
import type { StateData } from "../status/StateData.ts";
import type { TaskStatus } from "../status/TaskStatus.ts";

/**
 * The data of the status that an agent has, with values in their stored form: what its summary says. While it is in
 * progress only what does not move with each step; {@link inProgressData} has the rest.
 */
export function stateDataOf(agentId: string, life: StatusState): unknown {
  const status = life.standing?.status;
  return status === undefined ? {} : dataOf[status](life, agentId);
}

/** All data of an agent that is in progress. @param agentName how it is called when no sub-agent runs. */
export function inProgressData(life: StatusState, agentName: string): StateData["in_progress"] {
  const { standing, checkpoint, startedAt = 0 } = life;
  return {
    currentAgent: life.task?.name ?? agentName,
    currentStep: checkpoint?.record.node ?? "start",
    iterationCount: checkpoint?.record.iteration ?? 0,
    startedAt: iso(startedAt),
    lastActivityAt: iso(Math.max(startedAt, standing?.at ?? 0, checkpoint?.record.at ?? 0)),
    accumulatedContext: checkpoint?.id ?? "",
  };
}

type DataOf<Status extends TaskStatus> = (life: StatusState, agentId: string) => StateData[Status];

const queuedData: DataOf<"queued"> = ({ task, run, createdAt }, taskId) => ({
  taskId,
  createdAt: iso(createdAt),
  priority: task?.priority ?? 0,
  ...(task?.complexity !== undefined && { estimatedComplexity: task.complexity }),
  inputRequest: run?.input,
  ...(task?.reserves && { reserves: task.reserves }),
});

const startedData = ({ startedAt }: StatusState): Pick<StateData["in_progress"], "startedAt"> => ({
  startedAt: iso(startedAt),
});

const pausedData: DataOf<"paused"> = ({ standing, checkpoint }) => ({
  pausedAt: iso(standing?.at),
  pauseReason: standing?.record?.reason ?? "",
  ...(standing?.record?.instructions !== undefined && { resumeInstructions: standing.record.instructions }),
  snapshot: checkpoint?.id ?? "",
});

const waitingData: DataOf<"waiting"> = ({ standing }) => ({
  waitingFor: standing?.record?.waitingFor ?? "user_input",
  promptShownToUser: standing?.record?.prompt ?? "",
  ...(standing?.record?.until !== undefined && { timeoutAt: iso(standing.record.until) }),
});

const completedData: DataOf<"completed"> = ({ standing, checkpoint }) => ({
  completedAt: iso(standing?.at),
  finalOutput: checkpoint?.record.input,
  filesModified: (checkpoint?.record.files ?? []) as readonly string[],
  verificationResults: checkpoint?.record.verification ?? [],
});

const failedData: DataOf<"failed"> = ({ standing, retries }) => ({
  failedAt: iso(standing?.at),
  errorType: standing?.record?.error?.name ?? "Error",
  errorMessage: standing?.record?.error?.message ?? "",
  ...(standing?.record?.error?.stack !== undefined && { stackTrace: standing.record.error.stack }),
  recoverable: standing?.record?.recoverable ?? true,
  retryCount: retries,
});

const cancelledData: DataOf<"cancelled"> = ({ standing, checkpoint }) => ({
  cancelledAt: iso(standing?.at),
  ...(checkpoint?.record.reason !== undefined && { reason: checkpoint.record.reason }),
});

const dataOf: Readonly<Record<TaskStatus, (life: StatusState, agentId: string) => unknown>> = {
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
