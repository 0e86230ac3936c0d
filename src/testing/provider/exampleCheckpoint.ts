import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import { formatVersion } from "../../checkpoint/format/formatVersion.ts";

const start = Date.UTC(2026, 0, 1);

/** A checkpoint of a run with a step for each version; what `more` says goes in its place. Plain JSON. */
export function exampleCheckpoint(
  agentId: string,
  version: number,
  more: Partial<AgentCheckpointData> = {},
): AgentCheckpointData {
  return {
    checkpointId: `1-${version}`,
    agentId,
    runId: `run of ${agentId}`,
    ...(version > 1 && { parentId: `1-${version - 1}` }),
    version,
    createdAt: new Date(start + version * 1_000).toISOString(),
    nodeId: "callModel",
    lastInput: `input ${version} of ${agentId}`,
    agentPath: [],
    messageHistory: [{ role: "user", content: `question of ${agentId}` }],
    storage: { step: version, of: agentId },
    model: "some-model",
    tools: ["createUser"],
    iteration: version,
    status: "in_progress",
    toolCalls: [],
    decisions: [],
    fileChanges: { modified: [], created: [], deleted: [] },
    recoveryInfo: { resumePoint: more.nodeId ?? "callModel", requiredContext: [], environment: {} },
    formatVersion,
    checksum: "",
    ...more,
  };
}

/** The first checkpoints of an agent, oldest first. */
export function exampleCheckpoints(agentId: string, count: number): AgentCheckpointData[] {
  return Array.from({ length: count }, (_, index) => exampleCheckpoint(agentId, index + 1));
}
