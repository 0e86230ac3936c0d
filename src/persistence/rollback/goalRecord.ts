import type { RollbackRecord } from "../../checkpoint/records/rollbackRecords.ts";
import type { RollbackGoal } from "../../journal/planRollback.ts";

export function goalRecord({ target, base }: RollbackGoal): Pick<RollbackRecord, "target" | "base"> {
  return { target: target.version, ...(base && { base: base.version }) };
}
