import type { CheckpointPoint, LogProjection } from "../../checkpoint/state/LogProjection.ts";
import type { PlannedSteps } from "../../checkpoint/records/rollbackRecords.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { RollbackPlan } from "../../journal/planRollback.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";

/** What taking calls back needs to know. */
export interface RevertOptions {
  readonly setup: PersistenceSetup;
  readonly journal: Journal;
  /** Of the log from which the plan was made. */
  readonly index: LogProjection;
  readonly plan: RollbackPlan;
  /** What participants do after the calls are reverted; it is stored with the plan. */
  readonly participants: readonly PlannedSteps[];
  readonly target: CheckpointPoint;
  readonly signal: AbortSignal;
}
