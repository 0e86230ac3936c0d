import type { AgentRecord } from "./AgentRecord.ts";
import type { RollbackEndRecord } from "./rollbackRecords.ts";

/**
 * Returns whether a record after the end of a rollback still belongs to it, because it retries or resolves a failed
 * step. A name record has no influence.
 *
 * @param closed The calls below the target.
 */
export function isOfRollback(record: AgentRecord, { target }: RollbackEndRecord, closed: ReadonlySet<string>): boolean {
  switch (record.kind) {
    case "rollback":
      return record.target === target;
    case "intent":
    case "outcome":
      return closed.has(record.call);
    default:
      return ["status", "name", "rollback_step", "inverse", "reverted"].includes(record.kind);
  }
}
