import type {
  AgentCheckpointData,
  CheckpointDecision,
  CheckpointToolCall,
} from "../../../checkpoint/data/AgentCheckpointData.ts";
import { formatVersion } from "../../../checkpoint/records/Entry.ts";
import type { Message } from "../../../checkpoint/messages/Message.ts";

const start = Date.UTC(2026, 0, 1);

/** Returns a checkpoint of a run with one step per version, as plain JSON, with the fields of `more`. */
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

export function exampleCheckpoints(agentId: string, count: number): AgentCheckpointData[] {
  return Array.from({ length: count }, (_, index) => exampleCheckpoint(agentId, index + 1));
}

/** Returns four checkpoints that use all fields, with two steps, a rollback of the second step and the end. */
export function fullCheckpoints(agentId: string): AgentCheckpointData[] {
  const first = exampleCheckpoint(agentId, 1, {
    runInput: { question: "who is it?" },
    nodeId: "subgraph/callTools",
    lastInput: { question: "who?", list: [1, [2], { three: null }] },
    lastInputType: '{"type":"object"}',
    messageHistory: messages.slice(0, 2),
    storage: { count: 1, "a key": { deep: [true] }, text: "" },
    modelParameters: { temperature: 0.1, stop: ["\n"] },
    tools: ["createUser", "removeUser"],
    progress: 0,
    decisions: decisions.slice(0, 1),
    recoveryInfo: {
      resumePoint: "subgraph/callTools",
      requiredContext: ["a.txt", "b/c.txt"],
      environment: { node: ">=20.19", "env:DATABASE_URL": "*" },
    },
    strategyFingerprint: "fingerprint",
  });
  const { runInput: _input, ...step } = first;
  const second: AgentCheckpointData = {
    ...step,
    ...identity(agentId, 2),
    unresolved: true,
    messageHistory: messages,
    storage: { count: 2, "another key": [] },
    progress: 50,
    progressSummary: "half way",
    toolCalls,
    decisions,
  };
  const { progressSummary: _summary, unresolved: _unresolved, ...begun } = second;
  const rolledBack: AgentCheckpointData = {
    ...step,
    ...identity(agentId, 3),
    parentId: "1-1",
    move: "rollback",
    visit: [1, 0],
    revertedToolCallIds: ["call-1"],
  };
  const end: AgentCheckpointData = {
    ...begun,
    ...identity(agentId, 4),
    nodeId: "finish",
    move: "execution_point",
    standingToolCallIds: ["call-2", "call-4"],
    lastInput: "the output",
    status: "completed",
    progress: 100,
    toolCalls: [],
    recoveryInfo: { ...first.recoveryInfo, resumePoint: "finish" },
  };
  return [first, second, rolledBack, end];
}

function identity(agentId: string, version: number) {
  const { checkpointId, createdAt, iteration } = exampleCheckpoint(agentId, version);
  return { checkpointId, version, createdAt, iteration, parentId: `1-${version - 1}` };
}

const messages: readonly Message[] = [
  { role: "system", content: "Sign up the people you are given." },
  {
    role: "user",
    content: [
      { type: "text", text: "Alex", providerOptions: { provider: { cache: true } } },
      { type: "file", data: "aGk=", mediaType: "text/plain", filename: "a.txt" },
    ],
  },
  {
    role: "assistant",
    content: [
      { type: "reasoning", text: "hm" },
      {
        type: "tool-call",
        toolCallId: "call-1",
        providerToolCallId: "0",
        toolName: "createUser",
        input: { name: "Alex" },
      },
    ],
  },
  {
    role: "tool",
    content: [
      { type: "tool-result", toolCallId: "call-1", providerToolCallId: "0", toolName: "createUser", output: { id: 7 } },
    ],
  },
];

const toolCalls: readonly CheckpointToolCall[] = [
  {
    toolCallId: "call-1",
    toolName: "createUser",
    effect: "reversible",
    input: { name: "Alex" },
    status: "succeeded",
    output: { id: 7 },
  },
  { toolCallId: "call-2", toolName: "createUser", effect: "reversible", input: {}, status: "failed", error: "no name" },
  { toolCallId: "call-3", toolName: "look", effect: "none", input: null, status: "succeeded", output: null },
  { toolCallId: "call-4", toolName: "draw", effect: "irreversible", input: "x", status: "lost" },
  { toolCallId: "call-5", toolName: "goBack", effect: "irreversible", input: "x", status: "moved" },
];

const decisions: readonly CheckpointDecision[] = [
  { decision: "sign up", reason: "was asked to", nodeId: "callModel", decidedAt: "2026-01-01T00:00:00.500Z" },
  { decision: "continue", nodeId: "callTools", decidedAt: "2026-01-01T00:00:01.500Z" },
];
