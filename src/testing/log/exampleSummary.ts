import type { AgentSummary } from "../../storage/RecordLog.ts";

/** A summary with every field that a storage must keep; what `more` says goes in its place. */
export function exampleSummary(agentId: string, status: string, more: Partial<AgentSummary> = {}): AgentSummary {
  return {
    agentId,
    status,
    order: "1",
    dueAt: "2026-02-01T00:00:00.000Z",
    requestIds: ["r1", "r2"],
    position: 0,
    taskName: "import",
    priority: 5,
    inputRequest: { file: "people.csv" },
    runId: `run of ${agentId}`,
    createdAt: "2026-01-01T00:00:00.000Z",
    updatedAt: "2026-01-02T00:00:00.000Z",
    data: { pauseReason: "é😀", list: [1, null, { deep: [] }] },
    ...more,
  };
}
