import type { AgentSummary, ListOptions } from "../RecordLog.ts";
import { isSelected } from "../selectSummaries.ts";
import { unreadable } from "../unreadableSummary.ts";
import { askTableAgain, type RetriedTable } from "./askAgain.ts";
import type { LogTable, TableListed, TableSelection } from "./LogTable.ts";
import { timeOf } from "./summaryText.ts";

const listedAtOnce = 100;
/** The page size for a list of free agents after the first page, because a poll skips all running agents. */
const passedAtOnce = 2_500;

type Selection = Omit<ListOptions, "limit">;

/** Lists the agents of a table page by page. May yield more agents than requested. */
export async function* listTable(
  retried: RetriedTable & { readonly table: LogTable },
  selection: Selection,
  most: number,
): AsyncGenerator<TableListed> {
  const { free, after: order } = selection;
  const narrowing = narrowingOf(selection);
  if (narrowing.statuses?.length === 0) return;
  const asked = { ...narrowing, ...(free && { passingLimit: passedAtOnce }) };
  let limit = Math.min(listedAtOnce, most);
  let after: TableSelection["after"] = order === undefined ? undefined : { order };
  for (;;) {
    const page = { ...asked, after, limit };
    const { agents, more } = await askTableAgain(retried, "list", undefined, () => retried.table.list(page));
    yield* agents;
    const last = agents.at(-1);
    if (last === undefined || !more) return;
    after = { order: last.order, agentId: last.agentId };
    if (free) limit = passedAtOnce;
  }
}

function narrowingOf({ status, dueBefore, updatedBefore }: Selection): Omit<TableSelection, "limit"> {
  const statuses = status === undefined ? undefined : [...new Set(typeof status === "string" ? [status] : status)];
  return {
    // An unreadable agent may have any stored status.
    ...(statuses !== undefined && !statuses.includes(unreadable) && { statuses }),
    dueBefore: timeOf(dueBefore),
    updatedBefore: timeOf(updatedBefore),
  };
}

/** Whether a summary matches the selection. The table already applies `after`. */
export function fits(summary: AgentSummary, { after: _after, free: _free, ...selection }: Selection): boolean {
  return isSelected(summary, selection);
}
