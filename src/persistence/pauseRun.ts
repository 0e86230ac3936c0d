import type { StatusRecord } from "../checkpoint/records.ts";
import type { AgentSummary } from "../storage/RecordLog.ts";
import { agentSummary } from "./agentSummary.ts";

export interface PauseFacts {
  readonly agentId: string;
  readonly runId: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly reason: string;
}

/** What goes with a move from outside: the run waits for somebody to resume it on purpose. */
export function pauseRun({ agentId, runId, createdAt, at, reason }: PauseFacts): {
  readonly record: StatusRecord;
  readonly summary: AgentSummary;
} {
  const data = { pausedAt: new Date(at).toISOString(), pauseReason: reason };
  return {
    record: { kind: "status", run: runId, status: "paused", at },
    summary: agentSummary({ agentId, runId, status: "paused", createdAt, updatedAt: at, data }),
  };
}
