import { persistence, type AIAgent, type PromptExecutor } from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { describe, expect, it } from "vitest";
import { CountedFiles } from "../support/CountedFiles.ts";
import { defaultLoop } from "../support/defaultLoop.ts";
import { durableAgent, type DurableOptions } from "../support/durableAgent.ts";
import { forgeConversation, forgedQuestion } from "../support/forgedConversation.ts";
import { cases } from "../../soak/cases.ts";

const kilobyte = 1024;
const model: PromptExecutor = { execute: async () => ({ message: { role: "assistant", content: "fine" } }) };
const build = (storage: LogPersistenceStorageProvider, options: DurableOptions = {}) =>
  durableAgent(defaultLoop, storage, { model, ...options });
const ask = (agent: AIAgent<string, string>, history: "continue" | "new" = "continue") =>
  agent.run("And now?", history === "continue" ? { history } : {});

it("an agent with more than a thousand runs opens, answers, rolls back and prunes in a new process", async () => {
  const files = await CountedFiles.create();
  const runs = cases(1_100, 7_500);
  await forgeConversation(files.open(), runs);
  const next = () => persistence(build(files.open())).agent();
  expect(await next().getMessages()).toHaveLength(2 * runs);
  expect(await next().getMessages({ original: true })).toHaveLength(2 * runs);
  expect(await next().validateCheckpoint()).toMatchObject({ valid: true });
  expect(await build(files.open()).run(forgedQuestion(1), { runId: "r-1" })).toMatchObject({ status: "completed" });
  expect(await ask(build(files.open()))).toMatchObject({ output: "fine" });
  expect(await next().getMessages()).toHaveLength(2 * runs + 2);
  expect(await build(files.open()).resume()).toMatchObject({ output: "fine" });
  await next().rollbackToCheckpoint(`1-${runs}`);
  expect(await next().getMessages()).toHaveLength(runs);
  const { pruned, failed } = await persistence(build(files.open())).prune({ agentId: "a", now: 1_763_000_000_000 });
  expect({ pruned: pruned.length, failed }).toEqual({ pruned: 1, failed: [] });
  const afresh = { history: "continue", unfinished: "abandon" } as const;
  expect(await build(files.open()).run("And now?", afresh)).toMatchObject({ output: "fine" });
});

describe("a run of an agent that this process already ran", () => {
  const turnAfter = async (runs: number) => {
    const files = await CountedFiles.create();
    await forgeConversation(files.open(), runs);
    const agent = build(files.open());
    for (let run = 0; run < 3; run++) await ask(agent);
    const turn = await files.count(() => ask(agent));
    return { turn, messages: await files.count(() => persistence(agent).agent().getMessages()) };
  };

  it("reads and writes no more after 1,000 runs than after 10", async () => {
    const [few, many] = [await turnAfter(10), await turnAfter(1_000)];
    // The records of the run before, and its last one again.
    expect(few.turn.recordsRead).toBeLessThan(30);
    expect(many.turn.recordsRead).toBe(few.turn.recordsRead);
    expect(many.turn.bytesRead).toBeLessThan(few.turn.bytesRead + 64 * kilobyte);
    expect(many.turn.bytesWritten).toBeLessThan(few.turn.bytesWritten + 2 * kilobyte);
  });

  it("has its messages in memory", async () => {
    const [few, many] = [await turnAfter(10), await turnAfter(1_000)];
    expect(many.messages.recordsRead).toBe(few.messages.recordsRead);
    expect(many.messages.bytesRead).toBeLessThan(few.messages.bytesRead + 64 * kilobyte);
  });

  it("sees changes of another process in between", async () => {
    const files = await CountedFiles.create();
    const [agent, other] = [build(files.open()), build(files.open())];
    for (const each of [agent, other, agent, other, other, agent]) await ask(each);
    expect(await persistence(agent).agent().getMessages()).toHaveLength(12);
    expect(await persistence(other).agent().getMessages()).toHaveLength(12);
  });

  it("starts without history after another process has deleted the agent", async () => {
    const files = await CountedFiles.create();
    const [agent, other] = [build(files.open()), build(files.open())];
    await ask(agent);
    await persistence(other).deleteAgent("a");
    expect(await persistence(agent).agent().getMessages()).toEqual([]);
    await ask(agent);
    expect(await persistence(agent).agent().getMessages()).toHaveLength(2);
  });
});

describe("a new process", () => {
  const opened = async (runs: number, history: "continue" | "new") => {
    const files = await CountedFiles.create();
    await forgeConversation(files.open(), runs, { keep: history === "new" ? "nothing" : "history" });
    for (let run = 0; run < 2; run++) await ask(build(files.open()), history);
    return files.count(() => ask(build(files.open()), history));
  };

  it("reads little more than the ids of 5,000 runs that kept no messages", async () => {
    const [few, many] = [await opened(10, "new"), await opened(5_000, "new")];
    expect(many.recordsRead).toBeLessThan(few.recordsRead + 20);
    // Each finished run is known by its id.
    expect(many.bytesRead).toBeLessThan(few.bytesRead + 4 * 40 * 5_000);
  });

  it("reads at most twice the current state, however much was trimmed before", async () => {
    const files = await CountedFiles.create();
    const shorten = (lane: number, number: number) => [
      { kind: "edit", lane, remove: [[Math.max(1, number - 30), number - 21]], insert: [] },
    ];
    await forgeConversation(files.open(), 3_000, { between: shorten });
    for (let run = 0; run < 2; run++) await ask(build(files.open()));
    const agent = build(files.open());
    const live = JSON.stringify(await persistence(agent).agent().getMessages()).length + 45 * 3_000;
    const { recordsRead } = await files.count(() => ask(build(files.open())));
    expect(recordsRead).toBeLessThan(60);
    expect(live).toBeLessThan(200 * kilobyte);
  });
});
