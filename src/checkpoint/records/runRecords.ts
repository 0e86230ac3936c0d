import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { WaitingFor, FileReservation } from "../status/TaskStatus.ts";
import type { ModelUsage } from "../tokenUsage/ModelUsage.ts";
import type { StoredValue } from "../values/valueCodec.ts";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { reasonOf } from "../../internal/reasonOf.ts";

/** Marks the agent as a task. The same append contains its queued run. */
export interface TaskRecord {
  readonly kind: "task";
  readonly name: string;
  /** Higher priorities run first. Defaults to 0. */
  readonly priority?: number;
  readonly complexity?: "low" | "medium" | "high";
  readonly reserves?: readonly FileReservation[];
  readonly controls?: TaskControls;
  /** The start of the sort key in lists. Defaults to the priority and the creation time. */
  readonly order?: string;
}

/** Starts a run with its input. Also continues a finished run after a rollback to a point before its end. */
export interface RunRecord {
  readonly kind: "run";
  readonly run: string;
  readonly input: StoredValue;
  readonly at: number;
  readonly digest?: string;
  /** True if the input is unknown, so that it was copied from the first checkpoint of the run. */
  readonly assumed?: true;
  /** The trace in which the run was started, in the format of `traceparent` in W3C Trace Context. */
  readonly trace?: string;
  /** Set if running the agent needs its vault: a token, or "" for readers with the vault. Any record can have it. */
  readonly vault?: string;
}

/** The result of a finished run whose last checkpoint was pruned. */
export interface EndedRecord {
  readonly kind: "ended";
  readonly lane: number;
  readonly run: string;
  readonly version: number;
  readonly status: "completed" | "cancelled";
  readonly output?: StoredValue;
  readonly usage?: ModelUsage;
  readonly digest?: string;
}

/** Changes the status without a checkpoint. A new run is `in_progress` unless the same append sets `queued`. */
export interface StatusRecord {
  readonly kind: "status";
  readonly run: string;
  readonly status: "queued" | "in_progress" | "failed" | "paused" | "waiting";
  readonly at: number;
  readonly reason?: string;
  readonly instructions?: string;
  readonly requests?: readonly string[];
  /** True if another branch of the waiting run has an answer, so that the run can continue. */
  readonly answered?: true;
  readonly waitingFor?: WaitingFor;
  readonly prompt?: string;
  readonly until?: number;
  readonly error?: { readonly name: string; readonly message: string; readonly code?: string; readonly stack?: string };
  /** The calls and the expired requests whose failures ended the run. A resume retries these calls and requests. */
  readonly failedCalls?: readonly string[];
  /** The tokens of a failed run so far, including requests without a response. `undefined` if unknown. */
  readonly usage?: ModelUsage;
  readonly recoverable?: false;
  readonly retry?: number;
  /** The number of attempts of a task since its last progress, including this attempt. */
  readonly attempt?: number;
}

/** Marks the agent as a fork. All earlier records, with their calls, notes and requests, belong to another agent. */
export interface OriginRecord {
  readonly kind: "origin";
  readonly agentId: string;
  /** The version of the checkpoint at which the fork starts. 0 without a checkpoint. */
  readonly version: number;
  readonly position: number;
  readonly checksum: string;
  /** The first lane that the fork may use. A deleted fork with the same id had a different number. */
  readonly nextLane: number;
  /** True if all approvals must be requested again, because the archive is untrusted. */
  readonly asksAgain?: true;
}

/** Whether the agent may run in this storage. The newest record counts. Without one, the agent may run. */
export interface CustodyRecord {
  readonly kind: "custody";
  /** `moving`: exported for a move. `moved`: runs elsewhere. `copied`: imported, and the original can still run. */
  readonly state: "here" | "moving" | "moved" | "copied";
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly move?: string;
  readonly to?: MovedTo;
  readonly asksAgain?: true;
}

interface MovedTo {
  readonly agentId: string;
  /** The directory of the new storage. `undefined` for a storage without a directory. */
  readonly folder?: string;
}

/** When and how often workers may run a task. Times are in ISO 8601. */
export interface TaskControls {
  /** The queue of the task. Omitted for a task without a queue. */
  readonly queue?: string;
  /** The key of the task in its queue, such as a customer. */
  readonly key?: string;
  /** Workers do not start the task before this time. */
  readonly notBefore?: string;
  /** Workers cancel the task if it is still queued at this time. */
  readonly expiresAt?: string;
  /** How often a worker retries the task after a failure. Defaults to 0. */
  readonly retries?: number;
  /** The first retry delay in milliseconds. Doubled for each retry, up to 64 times the first. Requires `retries`. */
  readonly retryDelayMs?: number;
  /** The id that distinguishes the task from its duplicates. */
  readonly deduplicationId?: string;
}

/** The maximum stored length of an error message and of a stack, in characters. */
const keptCharacters = 10_000;

export function describeError(error: unknown): StatusRecord["error"] & object {
  const { name = "Error", stack, code } = shownOf(error);
  const message = reasonOf(error).slice(0, keptCharacters);
  return withoutUndefined({ name, message, code, stack: stack?.slice(0, keptCharacters) });
}

/** Ignores fields with other types and getters that throw, because any value can be thrown. */
export function shownOf(error: unknown): { readonly name?: string; readonly stack?: string; readonly code?: string } {
  try {
    const code = AgentPersistenceError.isInstance(error) && error.code;
    const { name, stack }: { readonly name?: unknown; readonly stack?: unknown } = error instanceof Error ? error : {};
    return {
      ...(typeof name === "string" && { name }),
      ...(typeof stack === "string" && { stack }),
      ...(code && { code }),
    };
  } catch {
    return {};
  }
}
