import { z } from "zod";
import { TaskStatus } from "../../checkpoint/status/TaskStatus.ts";
import type { Clock } from "../../internal/Clock.ts";
import {
  clockSchema,
  customSchema,
  functionSchema,
  integerFrom,
  numberFrom,
  objectWithMethods,
} from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/checkSchema.ts";
import { queueName } from "../state/Task.ts";
import { isSummaryOrder } from "../../journal/agentSummary.ts";
import type { ListenerErrorHandler, PersistenceListener } from "../../listeners/PersistenceEvent.ts";
import { type PersistenceStorageProvider, providerSchema } from "../../storage/PersistenceStorageProvider.ts";
import type { Redactor } from "../../redaction/redaction.ts";
import { type Telemetry, telemetrySchema } from "../../telemetry/Telemetry.ts";

/** Options of `TaskManager`. */
export interface TaskManagerOptions {
  /** The storage of the agents that the tasks drive. It must have a `RecordLog`. */
  readonly storage: PersistenceStorageProvider;
  /**
   * The maximum input size of a new task, in bytes of JSON. An agent refuses a run that exceeds the agent's
   * `maxCheckpointBytes`, so use the same value. Defaults to 5,242,880.
   */
  readonly maxCheckpointBytes?: number | undefined;
  /** Defaults to the system clock. */
  readonly clock?: Clock | undefined;
  /**
   * Receives an event for each durable change by this manager: `status_changed`, and `checkpoint_saved` when a run
   * ends. The agent's `onEvent` receives the events of its runs. The return value is not awaited.
   */
  readonly onEvent?: PersistenceListener | undefined;
  /** Receives the errors of `onEvent`, which have no other effect. Defaults to a process warning. */
  readonly onListenerError?: ListenerErrorHandler | undefined;
  /**
   * Shows the operations of this manager as spans and metrics, such as `openTelemetry()` of `agent-persistence/otel`.
   * The run of a task links to the span that queued it. The agent's `telemetry` shows the run. Defaults to no
   * telemetry.
   */
  readonly telemetry?: Telemetry | undefined;
  /** Redacts values in the storage, events and telemetry. Pass the `redact` of the agents. Defaults to none. */
  readonly redact?: Redactor | undefined;
}

/** Selects tasks for `TaskManager.list`. */
export interface TaskFilter {
  /** Only tasks with this status. Defaults to all statuses. */
  readonly status?: TaskStatus | undefined;
  /** Only tasks of this queue. Defaults to all queues. */
  readonly queue?: string | undefined;
  /** The maximum number of tasks. Defaults to no limit. */
  readonly limit?: number | undefined;
  /** The `cursor` of a task. The list starts after it. Defaults to the start of the list. */
  readonly after?: string | undefined;
}

/** Options of `TaskManager.cancel`. */
export interface InterruptTaskOptions {
  /** How long to wait until the owner has released the task, in milliseconds. Defaults to 30,000. */
  readonly timeoutMs?: number | undefined;
}

/** Options of `TaskManager.pause`. */
export interface PauseTaskOptions extends InterruptTaskOptions {
  /** Instructions for the person who resumes the task. */
  readonly resumeInstructions?: string | undefined;
  /** If false, a running task continues, and the call rejects with `AgentBusyError`. Defaults to true. */
  readonly interrupt?: boolean | undefined;
}

const timeoutMs = numberFrom(0).optional();
const isCursor = (value: unknown) => typeof value === "string" && isSummaryOrder(value);

export const taskManagerSchemas = {
  options: strictOptions(() => ({
    storage: providerSchema,
    maxCheckpointBytes: numberFrom(1).optional(),
    clock: clockSchema.optional(),
    onEvent: functionSchema().optional(),
    onListenerError: functionSchema().optional(),
    telemetry: telemetrySchema.optional(),
    redact: objectWithMethods<Redactor>("apply", "input", "output").optional(),
  })) as z.ZodType,
  filter: strictOptions(() => ({
    status: z.enum(TaskStatus).optional(),
    queue: queueName.optional(),
    limit: integerFrom(0).optional(),
    after: customSchema("the cursor of a task", isCursor).optional(),
  })) as z.ZodType,
  pause: z.object({
    reason: z.string(),
    options: strictOptions(() => ({
      resumeInstructions: z.string().optional(),
      interrupt: z.boolean().optional(),
      timeoutMs,
    })),
  }) as z.ZodType,
  wait: strictOptions(() => ({
    waitingFor: z.enum(["user_input", "external_api", "human_approval"]),
    promptShownToUser: z.string(),
    timeoutAt: z.iso.datetime({ offset: true }).optional(),
  })) as z.ZodType,
  complete: strictOptions(() => ({
    output: z.unknown(),
    verificationResults: z.array(z.unknown()).optional(),
  })) as z.ZodType,
  fail: strictOptions(() => ({ recoverable: z.boolean().optional() })) as z.ZodType,
  cancel: z.object({ reason: z.string().optional(), options: strictOptions(() => ({ timeoutMs })) }) as z.ZodType,
} as const;
