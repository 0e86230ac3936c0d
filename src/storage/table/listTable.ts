import type { AgentSummary, ListOptions } from "../RecordLog.ts";
import { isSelected } from "../selectSummaries.ts";
import { unreadable } from "../unreadableSummary.ts";
import { askTable } from "./askTable.ts";
import type { LogTable, TableListed, TableSelection } from "./LogTable.ts";
import { timeOf } from "./summaryText.ts";

/** How many agents a list asks the table for at a time. */
const listedAtOnce = 100;
/** The same behind the first page of those that are free: a poll passes over all that run. */
const passedAtOnce = 2_500;

type Selection = Omit<ListOptions, "limit">;

/** The agents that a table lists, page after page; it may give more than were asked for. */
export async function* listTable(
  table: LogTable,
  { status, dueBefore, updatedBefore, free, after: order }: Selection,
  most: number,
): AsyncGenerator<TableListed> {
  const statuses = status === undefined ? undefined : [...new Set(typeof status === "string" ? [status] : status)];
  if (statuses?.length === 0) return;
  let limit = Math.min(listedAtOnce, most);
  const asked = {
    // An agent that cannot be read may be in any status.
    ...(statuses !== undefined && !statuses.includes(unreadable) && { statuses }),
    dueBefore: timeOf(dueBefore),
    updatedBefore: timeOf(updatedBefore),
  };
  let after: TableSelection["after"] = order === undefined ? undefined : { order };
  for (;;) {
    const selection = { ...asked, after, limit };
    const page = await askTable(table, "list", undefined, () => table.list(selection));
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < limit) return;
    after = { order: last.order, agentId: last.agentId };
    if (free) limit = passedAtOnce;
  }
}

/** Whether a summary is one of those asked for, of which the table knows where they begin. */
export function fits(summary: AgentSummary, { after: _after, free: _free, ...selection }: Selection): boolean {
  return isSelected(summary, selection);
}
