import type { AgentSummary, ListOptions } from "./RecordLog.ts";

/** What a list selects by, as far as a summary shows it: whether an agent is free, only its owner shows. */
type Selection = Omit<ListOptions, "free" | "limit">;

/** What `RecordLog.list` yields of all summaries: those that were asked for, sorted, up to a limit. */
export function selectSummaries<Summary extends Selected>(
  summaries: readonly Summary[],
  { limit, ...selection }: Omit<ListOptions, "free">,
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
    (after === undefined || order > after) &&
    (dueBefore === undefined || (dueAt !== undefined && Date.parse(dueAt) <= Date.parse(dueBefore))) &&
    (updatedBefore === undefined || Date.parse(updatedAt) <= Date.parse(updatedBefore))
  );
}

/** Whether a status is asked for. */
export function isAmong(status: string, asked: ListOptions["status"]): boolean {
  if (asked === undefined) return true;
  return typeof asked === "string" ? status === asked : asked.includes(status);
}

/** The order of a list: by `order` as text, then by agent id. */
export function compareSummaries(
  a: Pick<AgentSummary, "order" | "agentId">,
  b: Pick<AgentSummary, "order" | "agentId">,
): number {
  return compareText(a.order, b.order) || compareText(a.agentId, b.agentId);
}

/** Compares texts by their code units. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
