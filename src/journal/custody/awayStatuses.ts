/** The statuses of agents that may not run here: whoever opens one is refused. */
export const awayStatuses: ReadonlySet<string> = new Set(["moving", "moved", "copied"]);
