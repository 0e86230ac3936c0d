import type { AgentSummary, ListOptions } from "./RecordLog.ts";

/** The list options that a summary alone can answer. `free` also requires the owner. */
type Selection = Omit<ListOptions, "free" | "limit" | "readOnly">;

/** Filters, sorts and limits summaries like `RecordLog.list`. */
export function selectSummaries<Summary extends Selected>(
  summaries: readonly Summary[],
  { limit, ...selection }: Omit<ListOptions, "free" | "readOnly">,
): readonly Summary[] {
  return summaries
    .filter((summary) => isSelected(summary, selection))
    .sort(compareSummaries)
    .slice(0, limit);
}

type Selected = Pick<AgentSummary, "agentId" | "status" | "order" | "dueAt" | "updatedAt">;

export function isSelected(
  { status, order, dueAt, updatedAt }: Omit<Selected, "agentId">,
  { status: asked, after, dueBefore, updatedBefore }: Selection,
): boolean {
  return (
    isAmong(status, asked) &&
    (after === undefined || compareText(order, after) > 0) &&
    (dueBefore === undefined || (dueAt !== undefined && Date.parse(dueAt) <= Date.parse(dueBefore))) &&
    (updatedBefore === undefined || Date.parse(updatedAt) <= Date.parse(updatedBefore))
  );
}

export function isAmong(status: string, asked: ListOptions["status"]): boolean {
  if (asked === undefined) return true;
  return typeof asked === "string" ? status === asked : asked.includes(status);
}

/** Compares by `order`, then by agent id if a storage has duplicate orders. */
export function compareSummaries(
  a: Pick<AgentSummary, "order" | "agentId">,
  b: Pick<AgentSummary, "order" | "agentId">,
): number {
  return compareText(a.order, b.order) || compareText(a.agentId, b.agentId);
}

export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const difference = rankOf(a.charCodeAt(at)) - rankOf(b.charCodeAt(at));
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Ranks surrogates after all other code units, because they encode the highest code points. */
function rankOf(unit: number): number {
  return unit >= 0xd8_00 && unit < 0xe0_00 ? unit + 0x1_00_00 : unit;
}
