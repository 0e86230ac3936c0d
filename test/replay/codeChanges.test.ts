import { InMemoryPersistenceStorageProvider, persistence } from "agent-persistence";
import { replayRun, type Divergence } from "agent-persistence/replay";
import { beforeAll, describe, expect, it } from "vitest";
import { recordsOf } from "../persistence/support/stored.ts";
import { executed, importAgent, type ProgramParts } from "./importProgram.ts";

const storage = new InMemoryPersistenceStorageProvider();

beforeAll(async () => {
  const agent = importAgent(storage);
  await agent.run("Today?", { runId: "r" });
  const durable = persistence(agent).agent();
  for (const { requestId } of await durable.getRequests()) await durable.answer(requestId, "yes");
  await agent.resume();
});

type Row = readonly [change: string, parts: Partial<ProgramParts>, divergence: Partial<Divergence> | undefined];

const rows: readonly Row[] = [
  ["no change", {}, undefined],
  ["another description of a tool", { addDescription: "Adds somebody." }, undefined],
  ["another effect of a tool", { addEffect: "idempotent" }, undefined],
  ["equal parameters of the model", { parameters: undefined }, undefined],
  ["another system prompt", { systemPrompt: "You import users." }, { what: "request", nodeId: "plan" }],
  ["another question", { question: "Who has left?" }, { what: "request", nodeId: "plan" }],
  ["another model", { model: "larger" }, { what: "request", nodeId: "plan" }],
  ["parameters of the model", { parameters: { temperature: 0 } }, { what: "request", nodeId: "plan" }],
  ["an additional message before a request", { note: "Be brief." }, { what: "request", nodeId: "plan" }],
  ["a removed tool that the model saw", { hasLookup: false }, { what: "request", nodeId: "plan" }],
  ["a renamed tool", { addName: "insert" }, { what: "request", nodeId: "plan" }],
  ["an additional request", { asksAgain: true }, { what: "request", nodeId: "plan" }],
  ["a renamed first node", { planName: "ask" }, { what: "path", nodeId: "ask" }],
  ["a renamed later node", { checkName: "verify" }, { what: "path", nodeId: "act" }],
  ["an edge around a node", { skipsCheck: true }, { what: "path", nodeId: "act" }],
  ["another input of a call", { order: ["first", "third"] }, { what: "call", nodeId: "check" }],
  ["reordered calls", { order: ["second", "first"] }, { what: "call", nodeId: "check" }],
  ["a missing call", { order: ["first"] }, { what: "call", nodeId: "check" }],
  ["an additional call", { order: ["first", "second", "third"] }, { what: "call", nodeId: "check" }],
  ["another input of a call without effect", { lookupItem: "Bob" }, { what: "call", nodeId: "check" }],
  ["another prompt for a person", { prompt: "Really?" }, { what: "input", nodeId: "check" }],
  ["no request for input", { prompt: undefined }, { what: "output", nodeId: "check" }],
  ["no sleep", { pause: false }, undefined],
  ["a node that fails", { fails: true }, { what: "failure", nodeId: "check" }],
  ["another call in a branch", { factsCall: "other" }, { what: "call", nodeId: "facts", branch: "both#facts" }],
  ["another output of a branch", { branchOutput: "bad" }, { what: "output", nodeId: "facts", branch: "both#facts" }],
  [
    "an additional branch",
    { branches: ["facts", "tone", "extra"] },
    { what: "branches", nodeId: "both", actual: "extra" },
  ],
  ["a removed branch", { branches: ["facts"] }, { what: "branches", nodeId: "both", expected: "tone" }],
  ["another message after the last request", { stored: "b" }, { what: "messages", nodeId: "last" }],
  ["a rewritten history", { rewrites: true }, { what: "messages", nodeId: "last" }],
  ["another output of the run", { output: (text) => `${text}!` }, { what: "output", nodeId: "last" }],
];

describe("replayRun after a change of the code", () => {
  it.each(rows)("finds the first divergence of %s", async (_change, parts, expected) => {
    const records = await recordsOf(storage, "import");
    const calls = [...executed];
    const { matches, divergence } = await replayRun(importAgent(storage, parts), { storage, agentId: "import" });
    if (expected) expect(divergence).toMatchObject(expected);
    else expect(divergence).toBeUndefined();
    expect(matches).toBe(expected === undefined);
    expect(executed).toEqual(calls);
    expect(await recordsOf(storage, "import")).toEqual(records);
  });

  it("lists the messages that differ", async () => {
    const agent = importAgent(storage, { systemPrompt: "You import users." });
    const { divergence } = await replayRun(agent, { storage, agentId: "import" });
    expect(divergence?.messages).toEqual([
      {
        index: 0,
        expected: { role: "system", content: "You import people." },
        actual: { role: "system", content: "You import users." },
      },
    ]);
  });
});
