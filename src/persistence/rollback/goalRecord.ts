import type { RollbackRecord } from "../../checkpoint/records/rollbackRecords.ts";
import type { RollbackGoal } from "../../journal/planRollback.ts";

/** Returns the goal of a rollback in the form of records. */
export function goalRecord({ target, base }: RollbackGoal): Pick<RollbackRecord, "target" | "base"> {
  return { target: target.version, ...(base && { base: base.version }) };
}
