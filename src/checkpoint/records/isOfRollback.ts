import type { AgentRecord } from "./AgentRecord.ts";
import type { RollbackEndRecord } from "./rollbackRecords.ts";

/**
 * Whether a record that follows the end of a rollback is of that rollback still: it tries again what had failed, or somebody
 * resolves it. A name changes nothing.
 *
 * @param closed the calls below the target.
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
