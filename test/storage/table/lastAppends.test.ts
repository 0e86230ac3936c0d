import { AIAgent, Persistence, persistence } from "agent-persistence";
import type { AgentFeature, FeaturePipeline } from "agent-persistence/feature";
import { LogPersistenceStorageProvider, TableRecordLog } from "agent-persistence/storage";
import { scriptedModel, SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { appendText, exampleSummary } from "../../../src/testing/conformance/log/logTest.ts";
import { oneNode } from "../../task/worker/oneNode.ts";
import { anyProcess } from "../../testing/conformance/anyProcess.ts";
import { collect } from "../file/support/fixture.ts";
import { orderBehindAgents } from "../../../src/storage/summaries.ts";
import { MemoryTable } from "./MemoryTable.ts";

const writes = new Set(["claim", "append", "appendAndRelease", "release", "remove"]);

/** A table in memory with the methods that wrote to it. */
function made() {
  const table = new MemoryTable();
  const called: string[] = [];
  table.onCall = (method) => void (writes.has(method) && called.push(method));
  const log = new TableRecordLog(table, { clock: new SimulatedClock(), processIdentity: anyProcess });
  const storage = new LogPersistenceStorageProvider(log);
  return { table, called, log, storage };
}

function agentOn(
  storage: LogPersistenceStorageProvider,
  body: (input: string) => string = (input) => input,
): AIAgent<string, string> {
  return new AIAgent({ promptExecutor: scriptedModel([]), llmModel: "none", strategy: oneNode(body) }).install(
    Persistence,
    { storage },
  );
}

describe("the last append of a run", () => {
  it("releases the agent in the same write", async () => {
    const { table, called, storage } = made();
    expect(await agentOn(storage).run("x", { agentId: "a" })).toMatchObject({ status: "completed" });
    expect(called).toEqual(["claim", "append", "appendAndRelease"]);
    expect(table.agent("a").owner).toBeUndefined();
  });

  it("counts as stored if its response is lost", async () => {
    const { table, called, storage } = made();
    const clock = new SimulatedClock();
    const log = new TableRecordLog(table, { clock, processIdentity: anyProcess });
    table.onCall = (method) => {
      if (method === "appendAndRelease" && !called.includes(method)) table.losesAnswer = true;
      called.push(method);
    };
    const run = agentOn(new LogPersistenceStorageProvider(log)).run("x", { agentId: "a" });
    let ended = false;
    void run.finally(() => (ended = true));
    while (!ended) {
      clock.advance(50);
      await new Promise(setImmediate);
    }
    expect(await run).toMatchObject({ status: "completed", output: "x" });
    expect(called.filter((method) => method === "appendAndRelease")).toHaveLength(2);
    expect(await agentOn(storage).run("y", { agentId: "a" })).toMatchObject({ output: "y" });
  });

  type Hook = (pipeline: FeaturePipeline, called: () => void) => void;
  const hooks: readonly (readonly [name: string, hook: Hook])[] = [
    ["onAgentCompleted", (pipeline, called) => pipeline.onAgentCompleted(called)],
    ["onStrategyCompleted", (pipeline, called) => pipeline.onStrategyCompleted(called)],
    ["onSubgraphCompleted", (pipeline, called) => pipeline.onSubgraphCompleted(called)],
    ["onNodeCompleted", (pipeline, called) => pipeline.onNodeCompleted(called)],
    ["aroundRun", (pipeline, called) => pipeline.aroundRun((request, next) => next(request).finally(called))],
  ];

  it.each(hooks)("keeps the agent for a feature with %s", async (name, hook) => {
    const { table, called, storage } = made();
    const owners: (string | undefined)[] = [];
    const listening: AgentFeature<Record<string, never>, object> = {
      key: "listening",
      install: (pipeline) => {
        hook(pipeline, () => void owners.push(table.agent("a").owner));
        return {};
      },
    };
    await agentOn(storage).install(listening, {}).run("x", { agentId: "a" });
    expect(owners).toEqual(name === "onSubgraphCompleted" ? [] : [expect.any(String)]);
    expect(called).toEqual(["claim", "append", "append", "release"]);
  });

  it("keeps the agent for a feature that notes completed nodes", async () => {
    const { called, storage } = made();
    const noting: AgentFeature<Record<string, never>, object> = {
      key: "noting",
      install: (pipeline) => {
        pipeline.onNodeCompleted(async ({ context }) => {
          persistence(context).note({ key: "node", value: context.nodeId });
          await persistence(context).durable();
        });
        return {};
      },
    };
    const agent = agentOn(storage).install(noting, {});
    expect(await agent.run("x", { agentId: "a" })).toMatchObject({ status: "completed" });
    expect(called.at(-1)).toBe("release");
  });

  it("keeps the agent for the run that follows a finished one", async () => {
    const { called, storage } = made();
    let fails = true;
    const agent = agentOn(storage, (input) => {
      if (fails) throw new Error("not yet");
      return input;
    });
    await expect(agent.run("x", { agentId: "a" })).rejects.toThrow("not yet");
    fails = false;
    called.length = 0;
    expect(await agent.run("y", { agentId: "a", unfinished: "finish_first" })).toMatchObject({ output: "y" });
    expect(called.filter((method) => method === "claim")).toHaveLength(1);
    expect(called.at(-1)).toBe("appendAndRelease");
  });

  it("keeps the agent for its pruning", async () => {
    const { called, storage } = made();
    const agent = new AIAgent({
      promptExecutor: scriptedModel([]),
      llmModel: "none",
      strategy: oneNode((input) => input),
    }).install(Persistence, { storage, retention: { maxCheckpoints: 3 } });
    for (const input of ["1", "2"]) await agent.run(input, { agentId: "a" });
    expect(called).toEqual([
      "claim",
      "append",
      "appendAndRelease",
      "claim",
      "append",
      "append",
      "append",
      "remove",
      "append",
      "release",
    ]);
  });
});

it("an append that releases tells the watchers if a worker may continue the agent", async () => {
  const { log } = made();
  let told = 0;
  await log.watch(() => void told++);
  for (const [agentId, status] of [
    ["a", "queued"],
    ["b", "completed"],
  ] as const) {
    const owned = await log.open(agentId, { host: "here", processId: 1, nonce: "me" });
    await owned.append({ id: "1", records: [], summary: exampleSummary(agentId, status), releases: true }, 0);
    await owned.release();
    await expect(appendText(owned, "2")).rejects.toMatchObject({ code: "storage_closed" });
  }
  expect(told).toBe(1);
  expect((await collect(log.list({ free: true }))).map(({ agentId }) => agentId)).toEqual(["a", "b"]);
});

it("an append to a session contains its summary, because an archive needs it, and an append to an agent does not", async () => {
  const { log } = made();
  for (const [agentId, order] of [
    ["session:a", `${orderBehindAgents}1`],
    ["a", "1"],
  ] as const) {
    const owned = await log.open(agentId, { host: "here", processId: 1, nonce: "me" });
    await owned.append({ id: "1", records: [], summary: exampleSummary(agentId, "queued", { order }) }, 0);
    await owned.release();
    const [line = new Uint8Array()] = await collect(log.encodedAppends(agentId));
    expect([agentId, Buffer.from(line).includes('"summary":{')]).toEqual([agentId, agentId !== "a"]);
  }
});
