import type { FileReservation } from "../status/FileReservation.ts";
import type { WaitingFor } from "../status/TaskStatus.ts";
import type { ModelUsage } from "../status/ModelUsage.ts";
import type { StoredValue } from "../values/valueCodec.ts";

/** The agent was created as a task. The same append contains its run, which is queued. */
export interface TaskRecord {
  readonly kind: "task";
  readonly name: string;
  /** The higher one goes first. Absent: 0. */
  readonly priority?: number;
  readonly complexity?: "low" | "medium" | "high";
  /** The files that it names. Absent: none. */
  readonly reserves?: readonly FileReservation[];
}

/** A run begins, with its input; or a finished run continues, after a rollback to before its end. */
export interface RunRecord {
  readonly kind: "run";
  readonly run: string;
  readonly input: StoredValue;
  readonly at: number;
  /** The digest of the input. Absent: unknown. */
  readonly digest?: string;
  /** The input is unknown: this is the input of its first checkpoint. */
  readonly assumed?: true;
  /** The trace that it began in, as the `traceparent` of W3C Trace Context. Absent: none was made. */
  readonly trace?: string;
}

/** A run has ended, and the checkpoint at its end was pruned: its result remains. */
export interface EndedRecord {
  readonly kind: "ended";
  readonly lane: number;
  readonly run: string;
  /** The version of that checkpoint. */
  readonly version: number;
  readonly status: "completed" | "cancelled";
  readonly output?: StoredValue;
  readonly usage?: ModelUsage;
  /** The digest of the run's input. Absent: unknown. */
  readonly digest?: string;
}

/** The status of the run changed without a checkpoint. Runs begin in progress unless a record beside them says `queued`. */
export interface StatusRecord {
  readonly kind: "status";
  readonly run: string;
  readonly status: "queued" | "in_progress" | "failed" | "paused" | "waiting";
  readonly at: number;
  /** Paused: why. */
  readonly reason?: string;
  /** Paused: what to know or do when you resume it. */
  readonly instructions?: string;
  /** Waiting: the unanswered requests, in the order in which they were made. */
  readonly requests?: readonly string[];
  /** Waiting: another request of the same wait has its answer, so that the run can continue. */
  readonly answered?: true;
  /** Waiting: what for, what the person was shown, and until when, in milliseconds since 1970. */
  readonly waitingFor?: WaitingFor;
  readonly prompt?: string;
  readonly until?: number;
  /** Failed: the error. */
  readonly error?: { readonly name: string; readonly message: string; readonly code?: string; readonly stack?: string };
  /** Failed: the calls whose failures the run rejected with. A resume makes them again. Absent: none. */
  readonly failedCalls?: readonly string[];
  /** Failed: the tokens of all model requests of the run so far, those without a recorded answer included. Absent: unknown. */
  readonly usage?: ModelUsage;
  /** Failed permanently. */
  readonly recoverable?: false;
  /** Queued again after a failure: the number of retries so far. */
  readonly retry?: number;
  /** In progress: a task is begun or continued, and how often it was since it last got further, this time included. */
  readonly attempt?: number;
}

/**
 * The agent is a fork. All that comes before this record was copied from the log of another agent: its calls, notes and requests
 * are the other agent's. All that comes after it is the fork's own. The same append contains the lines of the fork.
 */
export interface OriginRecord {
  readonly kind: "origin";
  /** The agent that the log was copied from. */
  readonly agentId: string;
  /** The version of the checkpoint that the fork began from. 0: there was none. */
  readonly version: number;
  /** Of the last append that was copied. */
  readonly position: number;
  readonly checksum: string;
  /** The first lane that the fork may begin. An earlier fork under the same id, which was deleted, began with another. */
  readonly nextLane: number;
  /** It was imported, and asks for all approvals anew: those of the archive are not trusted. */
  readonly asksAgain?: true;
}

/** Whether the agent may run here. The newest one counts; without one it may. */
export interface CustodyRecord {
  readonly kind: "custody";
  /**
   * `here`: it may. `moving`: it was exported to be moved. `moved`: it runs elsewhere now. `copied`: it was imported, and the
   * original may run, too.
   */
  readonly state: "here" | "moving" | "moved" | "copied";
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Which move it is about. Absent: none. */
  readonly move?: string;
  /** Moved: where it runs now. */
  readonly to?: MovedTo;
  /** It was imported, and asks for all approvals anew that come before this record: those of the archive are not trusted. */
  readonly asksAgain?: true;
}

/** Where an agent was moved to. */
export interface MovedTo {
  /** Its id there. */
  readonly agentId: string;
  /** The folder of the storage there. Absent: it has none. */
  readonly folder?: string;
}
