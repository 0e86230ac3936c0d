import type { OutcomeRecord } from "../../checkpoint/records/callRecords.ts";
import type { LoggedCall } from "../../journal/loggedCalls.ts";
import type { RollbackPlan } from "../../journal/planRollback.ts";
import { toolCallInDoubt } from "../doubt/callsInDoubt.ts";
import type { RevertOptions } from "./RevertOptions.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { askWhatHappened } from "../doubt/askWhatHappened.ts";
import { settledOutcome } from "../doubt/ToolCallSettlement.ts";

/**
 * What becomes of the calls in doubt that a rollback passes over: decided before anything is undone, as when their node
 * runs again. Calls that may be repeated need no word.
 *
 * @throws ToolCallInDoubtError when a person has to decide; nothing has changed then.
 */
export async function resolveDoubtsForRollback(
  { revert, inDoubt }: RollbackPlan,
  { setup, journal, signal }: Pick<RevertOptions, "setup" | "journal" | "signal">,
): Promise<readonly OutcomeRecord[]> {
  const records: OutcomeRecord[] = [];
  for (const call of [...revert, ...inDoubt].filter((one) => !one.outcome && !isRepeatable(one, setup))) {
    const asked = { tool: setup.toolNamed(call.tool), choice: setup.onToolCallInDoubt, signal };
    const { settlement, by } = await askWhatHappened(toolCallInDoubt(journal.agentId, call), asked);
    const end =
      settlement === "not-done"
        ? ({ unstarted: true, settled: by } as const)
        : settledOutcome(settlement, by, (output) =>
            journal.writer.value(output, `the settled output of "${call.tool}"`),
          );
    const { lane, visit, call: id } = call;
    records.push({ kind: "outcome", lane, visit, call: id, ...end });
  }
  return records;
}

/** As its tool is declared now, or was when the call began. */
function isRepeatable({ tool, effect }: LoggedCall, setup: PersistenceSetup): boolean {
  const known = setup.toolNamed(tool);
  const now = known ? setup.effectOf(known) : effect;
  return now === "none" || now === "idempotent";
}
