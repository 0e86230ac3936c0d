import type { AgentSummary } from "../storage/RecordLog.ts";

export interface SummaryFacts {
  readonly agentId: string;
  readonly runId: string;
  readonly status: "in_progress" | "paused" | "completed" | "failed" | "cancelled";
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** Milliseconds since 1970. */
  readonly updatedAt: number;
  readonly data: unknown;
}

/** The picture of an agent whose status changes. */
export function agentSummary({ agentId, runId, status, createdAt, updatedAt, data }: SummaryFacts): AgentSummary {
  const created = new Date(createdAt).toISOString();
  return {
    agentId,
    runId,
    status,
    order: `${created} ${agentId}`,
    requestIds: [],
    position: 0,
    createdAt: created,
    updatedAt: new Date(updatedAt).toISOString(),
    data,
  };
}
