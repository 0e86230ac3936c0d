import type { AgentSummary, ListOptions } from "./RecordLog.ts";

/** What a list selects by, as far as a summary shows it: whether an agent is free, only its owner shows. */
type Selection = Omit<ListOptions, "free" | "limit" | "readOnly">;

/** What `RecordLog.list` yields of all summaries: those that were asked for, sorted, up to a limit. */
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

/** Whether a summary fits what was asked for. */
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

/** Whether a status is asked for. */
export function isAmong(status: string, asked: ListOptions["status"]): boolean {
  if (asked === undefined) return true;
  return typeof asked === "string" ? status === asked : asked.includes(status);
}

/** The order of a list: by `order`, and by agent id where a storage has two that are the same. */
export function compareSummaries(
  a: Pick<AgentSummary, "order" | "agentId">,
  b: Pick<AgentSummary, "order" | "agentId">,
): number {
  return compareText(a.order, b.order) || compareText(a.agentId, b.agentId);
}

/** Compares texts by the bytes of their UTF-8. */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const difference = rankOf(a.charCodeAt(at)) - rankOf(b.charCodeAt(at));
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Halves of surrogate pairs stand for characters behind all that are one unit. */
function rankOf(unit: number): number {
  return unit >= 0xd8_00 && unit < 0xe0_00 ? unit + 0x1_00_00 : unit;
}
