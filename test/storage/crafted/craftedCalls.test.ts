import { expect, it } from "vitest";
import { AgentPersistenceError } from "agent-persistence";
import { craftLog } from "./craftLog.ts";

const call = "c".repeat(22);
const asked = (toolCallId: string, toolName: string) => ({ type: "tool-call", toolCallId, toolName, input: { n: 1 } });
const answer = (version: number, ...content: readonly object[]) => ({
  kind: "answer",
  lane: 1,
  visit: [version - 1, 0],
  ordinal: 0,
  node: "second",
  message: { role: "assistant", content },
});
const facts = (version: number, more: object = {}) => ({
  lane: 1,
  visit: [version - 1, 0],
  call,
  tool: "act",
  effect: "idempotent",
  node: "second",
  ...more,
});

const crafted: Readonly<Record<string, (version: number) => readonly object[]>> = {
  "that no answer asks for": (version) => [
    answer(version, { type: "text", text: "no call" }),
    { kind: "intent", ...facts(version) },
  ],
  "without any answer": (version) => [{ kind: "intent", ...facts(version) }],
  "of another tool than its answer asks for": (version) => [
    answer(version, asked(call, "other")),
    { kind: "intent", ...facts(version) },
  ],
  "that only a later answer asks for": (version) => [
    { kind: "intent", ...facts(version) },
    answer(version, asked(call, "act")),
  ],
  "whose answer is no message": (version) => [
    { ...answer(version), message: 5 },
    { kind: "intent", ...facts(version) },
  ],
  "whose answer has parts that are none": (version) => [
    { ...answer(version), message: { role: "assistant", content: [null, 7, "x", { type: "tool-call" }] } },
    { kind: "intent", ...facts(version) },
  ],
  "that ended, of another tool than its answer asks for": (version) => [
    answer(version, asked(call, "other")),
    { kind: "intent", ...facts(version) },
    { kind: "outcome", lane: 1, visit: [version - 1, 0], call, output: "done" },
  ],
  "that only its outcome names": (version) => [
    { kind: "outcome", ...facts(version, { effect: "none" }), output: "done" },
  ],
};

it.each(Object.keys(crafted))("a crafted call %s is neither made nor reverted", async (name) => {
  const { durable, agent, began } = await craftLog(crafted[name] ?? (() => []));
  await expect(durable().rollbackToLatestCheckpoint()).rejects.toBeInstanceOf(AgentPersistenceError);
  await expect(agent().resume()).rejects.toBeInstanceOf(AgentPersistenceError);
  expect(began).toEqual([]);
});

it("a crafted call is reverted if a response in the log requests it, because checksums detect only damage", async () => {
  const { durable, began } = await craftLog((version) => [
    answer(version, asked(call, "act")),
    { kind: "intent", ...facts(version) },
  ]);
  await durable().rollbackToLatestCheckpoint();
  expect(began).toEqual([
    ["act", { n: 1 }],
    ["undo", { n: 1 }],
  ]);
});

it("an inverse record for an unknown call runs no call", async () => {
  const { durable, agent, began } = await craftLog((version) => [
    { kind: "rollback", target: version - 1, calls: [call], closed: [call] },
    { kind: "inverse", call },
  ]);
  await durable().rollbackToLatestCheckpoint();
  await agent().resume();
  expect(began).toEqual([]);
});
