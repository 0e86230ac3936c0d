/** What a list sorts and selects by. */
interface Listed {
  readonly agentId: string;
  readonly status: string;
  readonly order: string;
}

/** What `RecordLog.list` yields of all summaries: those of a status, sorted by order and then by agent id, after one, up to a limit. */
export function selectSummaries<Summary extends Listed>(
  summaries: readonly Summary[],
  { status, after, limit }: { readonly status?: string; readonly after?: string; readonly limit?: number },
): readonly Summary[] {
  return summaries
    .filter(
      (summary) =>
        (status === undefined || summary.status === status) && (after === undefined || summary.order > after),
    )
    .sort((a, b) => compareText(a.order, b.order) || compareText(a.agentId, b.agentId))
    .slice(0, limit);
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
