/** The statuses of agents that may not run here. Opening such an agent is refused. */
export const awayStatuses: ReadonlySet<string> = new Set(["moving", "moved", "copied"]);
