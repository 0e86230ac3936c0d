import type { RollbackRecord } from "../../checkpoint/records/rollbackRecords.ts";
import type { RollbackGoal } from "../../journal/planRollback.ts";

/** Where a rollback goes, as records say it. */
export function goalRecord({ target, base }: RollbackGoal): Pick<RollbackRecord, "target" | "base"> {
  return { target: target.version, ...(base && { base: base.version }) };
}
