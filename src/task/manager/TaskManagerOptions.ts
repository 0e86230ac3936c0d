import { z } from "zod";
import { TaskStatus } from "../../checkpoint/status/TaskStatus.ts";
import type { Clock } from "../../internal/Clock.ts";
import {
  clockSchema,
  customSchema,
  functionSchema,
  integerFrom,
  numberFrom,
} from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { isSummaryOrder } from "../../journal/agentSummary.ts";
import type { ListenerErrorHandler, PersistenceListener } from "../../events/PersistenceEvent.ts";
import { type PersistenceStorageProvider, providerSchema } from "../../storage/PersistenceStorageProvider.ts";
import type { Telemetry } from "../../telemetry/Telemetry.ts";
import { telemetrySchema } from "../../telemetry/telemetrySchema.ts";

/** Where a `TaskManager` keeps its tasks, and who hears of their changes. */
export interface TaskManagerOptions {
  /** The storage of the agents that the tasks drive. It must have a `RecordLog`. */
  readonly storage: PersistenceStorageProvider;
  /**
   * The largest input of a new task, in bytes of JSON. An agent refuses to begin a run with more than its own
   * `maxCheckpointBytes`: give both the same. Default 5,242,880.
   */
  readonly maxCheckpointBytes?: number | undefined;
  /** Default: the system clock. */
  readonly clock?: Clock | undefined;
  /**
   * Gets an event for each change that this manager makes, once it is durable: `status_changed`, and `checkpoint_saved` when
   * a run ends. The agent's own `onEvent` gets the events of its runs. Not awaited. Default: no listener.
   */
  readonly onEvent?: PersistenceListener | undefined;
  /** Gets the errors of `onEvent`; they have no other effect. Default: a process warning. */
  readonly onListenerError?: ListenerErrorHandler | undefined;
  /**
   * Shows what this manager does as spans and metrics, such as `openTelemetry()` of `agent-persistence/otel`. The run of a task
   * links to the span that queued it; the agent's own `telemetry` shows the run. Default: nothing is shown.
   */
  readonly telemetry?: Telemetry | undefined;
}

/** Which tasks `TaskManager.list` yields. */
export interface TaskFilter {
  /** Only tasks in this status. Default: in any status. */
  readonly status?: TaskStatus | undefined;
  /** The most tasks to yield. Default: no limit. */
  readonly limit?: number | undefined;
  /** The `cursor` of a task: only the tasks behind it. Default: from the first task on. */
  readonly after?: string | undefined;
}

/** How `TaskManager.cancel` interrupts a running task. */
export interface InterruptTaskOptions {
  /** How long to wait until the owner has released the task, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number | undefined;
}

/** How `TaskManager.pause` pauses a task. */
export interface PauseTaskOptions extends InterruptTaskOptions {
  /** What the person who resumes the task should know or do. Default: none. */
  readonly resumeInstructions?: string | undefined;
  /** False: a running task is left alone, and the call rejects with `AgentBusyError`. Default true. */
  readonly interrupt?: boolean | undefined;
}

const timeoutMs = numberFrom(0).optional();
const isCursor = (value: unknown) => typeof value === "string" && isSummaryOrder(value);

export const taskManagerSchemas = {
  options: strictOptions({
    storage: providerSchema,
    maxCheckpointBytes: numberFrom(1).optional(),
    clock: clockSchema.optional(),
    onEvent: functionSchema().optional(),
    onListenerError: functionSchema().optional(),
    telemetry: telemetrySchema.optional(),
  }) as z.ZodType,
  filter: strictOptions({
    status: z.enum(TaskStatus).optional(),
    limit: integerFrom(0).optional(),
    after: customSchema("the cursor of a task", isCursor).optional(),
  }) as z.ZodType,
  pause: z.object({
    reason: z.string(),
    options: strictOptions({
      resumeInstructions: z.string().optional(),
      interrupt: z.boolean().optional(),
      timeoutMs,
    }),
  }) as z.ZodType,
  wait: strictOptions({
    waitingFor: z.enum(["user_input", "external_api", "human_approval"]),
    promptShownToUser: z.string(),
    timeoutAt: z.iso.datetime({ offset: true }).optional(),
  }) as z.ZodType,
  complete: strictOptions({ output: z.unknown(), verificationResults: z.array(z.unknown()).optional() }) as z.ZodType,
  fail: strictOptions({ recoverable: z.boolean().optional() }) as z.ZodType,
  cancel: z.object({ reason: z.string().optional(), options: strictOptions({ timeoutMs }) }) as z.ZodType,
} as const;
