import type { RunRequest } from "../../agent/feature/RunRequest.ts";
import type { RunResult } from "../../agent/feature/RunResult.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { ActiveSpan } from "../../telemetry/ActiveSpan.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import type { RunRecorders } from "../record/RunRecorders.ts";
import type { OwnTurn } from "./joinOrRun.ts";

/** Runs the agent itself. */
export type Next = (request: RunRequest) => Promise<RunResult<unknown>>;

/** One call of `run` or `resume`. */
export interface DurableCall {
  readonly setup: PersistenceSetup;
  readonly recorders: RunRecorders;
  readonly journal: Journal;
  readonly request: RunRequest;
  readonly next: Next;
  readonly turn: OwnTurn;
  /** Whether the call has stopped another run, to take its place. */
  readonly replaces: boolean;
  /** Shows the call. Absent: nothing does. */
  readonly span?: ActiveSpan;
}
