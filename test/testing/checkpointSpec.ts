import fc from "fast-check";
import type { AgentCheckpointData, CheckpointToolCall } from "../../src/checkpoint/data/AgentCheckpointData.ts";
import type { Message } from "../../src/checkpoint/messages/Message.ts";
import { exampleCheckpoint } from "../../src/testing/conformance/provider/exampleCheckpoint.ts";

/** What a random checkpoint is to be, whatever was saved before it. */
export interface CheckpointSpec {
  /** Which of the checkpoints so far it follows. */
  readonly parent: number;
  readonly newRun: boolean;
  /** How many of its parent's messages it keeps. */
  readonly kept: number;
  readonly added: readonly unknown[];
  readonly storage: Readonly<Record<string, unknown>>;
  readonly lastInput: unknown;
  readonly calls: readonly unknown[];
  readonly versionStep: number;
  readonly clock: number;
  readonly ends: boolean;
}

const json = fc.oneof(
  { weight: 4, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  fc.constantFrom<unknown>(
    { $plain: 1 },
    { $rich: { json: 1 } },
    { $blob: ["blob://x", 1] },
    { $message: 1 },
    "\ud800",
  ),
);
const plain = json.map((value) => JSON.parse(JSON.stringify(value)) as unknown);
const key = fc.oneof(fc.string(), fc.constantFrom("__proto__", "constructor", "toJSON", "a", "b"));
const storage = fc
  .array(fc.tuple(key, plain), { maxLength: 4 })
  .map(
    (entries) =>
      JSON.parse(
        `{${entries.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join()}}`,
      ) as Record<string, unknown>,
  );

/** Random checkpoints. */
export const checkpointSpec: fc.Arbitrary<CheckpointSpec> = fc.record({
  parent: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(20)),
  newRun: fc.boolean(),
  kept: fc.oneof({ weight: 3, arbitrary: fc.constant(100) }, fc.nat(5)),
  added: fc.array(plain, { maxLength: 3 }),
  storage,
  lastInput: plain,
  calls: fc.array(plain, { maxLength: 2 }),
  versionStep: fc.oneof({ weight: 3, arbitrary: fc.constant(1) }, fc.integer({ min: 1, max: 20 })),
  clock: fc.integer({ min: 0, max: Date.UTC(2200, 0, 1) }),
  ends: fc.boolean(),
});

/** The checkpoint of a spec, after those that an agent has. */
export function checkpointOf(
  agentId: string,
  before: readonly AgentCheckpointData[],
  spec: CheckpointSpec,
): AgentCheckpointData {
  const version = (before.at(-1)?.version ?? 0) + spec.versionStep;
  const parent = before.at(-1 - (spec.parent % Math.max(1, before.length)));
  const newRun = parent === undefined || parent.status === "completed" || spec.newRun;
  const history = newRun ? [] : parent.messageHistory.slice(0, spec.kept);
  const { parentId: _parentId, ...example } = exampleCheckpoint(agentId, version);
  return {
    ...example,
    ...(parent && { parentId: parent.checkpointId }),
    runId: newRun ? `run ${version}` : parent.runId,
    createdAt: new Date(spec.clock).toISOString(),
    lastInput: spec.lastInput,
    messageHistory: [...history, ...spec.added.map(messageOf)],
    storage: spec.storage,
    toolCalls: spec.calls.map((value, index): CheckpointToolCall => callOf(`call ${version}.${index}`, value)),
    status: spec.ends ? "completed" : "in_progress",
  };
}

function messageOf(value: unknown, index: number): Message {
  if (typeof value === "string") return { role: "user", content: value };
  return {
    role: "assistant",
    content: [{ type: "tool-call", toolCallId: `asked ${index}`, toolName: "look", input: value }],
  };
}

function callOf(toolCallId: string, value: unknown): CheckpointToolCall {
  return { toolCallId, toolName: "look", effect: "none", input: value, status: "succeeded", output: [value] };
}
