import type { AgentSummary, ListOptions } from "../RecordLog.ts";
import { isSelected } from "../selectSummaries.ts";
import { unreadable } from "../unreadableSummary.ts";
import { askTableAgain, type RetriedTable } from "./askAgain.ts";
import type { LogTable, TableListed, TableSelection } from "./LogTable.ts";
import { timeOf } from "./summaryText.ts";

/** How many agents a list asks the table for at a time. */
const listedAtOnce = 100;
/** The same of those that are free, behind the first page or where most are not: a poll passes over all that run. */
const passedAtOnce = 2_500;

type Selection = Omit<ListOptions, "limit">;

/** The agents that a table lists, page after page; it may give more than were asked for. */
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
    // An agent that cannot be read may be in any status.
    ...(statuses !== undefined && !statuses.includes(unreadable) && { statuses }),
    dueBefore: timeOf(dueBefore),
    updatedBefore: timeOf(updatedBefore),
  };
}

/** Whether a summary is one of those asked for, of which the table knows where they begin. */
export function fits(summary: AgentSummary, { after: _after, free: _free, ...selection }: Selection): boolean {
  return isSelected(summary, selection);
}
