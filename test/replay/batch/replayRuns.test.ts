import { AIAgent, InMemoryPersistenceStorageProvider, Persistence } from "agent-persistence";
import { replayRuns, type ReplayedRun } from "agent-persistence/replay";
import { scriptedModel } from "agent-persistence/testing";
import { describe, expect, it, vi } from "vitest";

const agentOn = (storage: InMemoryPersistenceStorageProvider, systemPrompt = "Be short.") =>
  new AIAgent({ llmModel: "small", systemPrompt, promptExecutor: scriptedModel(["done"]) }).install(Persistence, {
    storage,
  });

async function stored(count: number): Promise<InMemoryPersistenceStorageProvider> {
  const storage = new InMemoryPersistenceStorageProvider();
  for (let at = 0; at < count; at++) await agentOn(storage).run("go", { agentId: `a${at}`, runId: "r" });
  return storage;
}

async function all(runs: AsyncIterable<ReplayedRun>): Promise<readonly ReplayedRun[]> {
  const found: ReplayedRun[] = [];
  for await (const run of runs) found.push(run);
  return found;
}

describe("replayRuns", () => {
  it("replays the newest run of every agent once and sums the results", async () => {
    const storage = await stored(9);
    const replays = replayRuns(agentOn(storage), { storage }, { concurrency: 3 });
    const runs = await all(replays);
    expect(new Set(runs.map(({ agentId }) => agentId)).size).toBe(9);
    expect(replays.report).toEqual({
      replayed: 9,
      matching: 9,
      diverged: 0,
      failed: 0,
      tokens: 0,
      divergences: [],
      ended: "all",
    });
  });

  it("includes agents whose summary cannot be read", async () => {
    const storage = await stored(2);
    const { log } = storage;
    const list = log.list.bind(log);
    vi.spyOn(log, "list").mockImplementation(async function* (options) {
      for await (const summary of list(options)) {
        const { runId: _runId, ...others } = summary;
        yield summary.agentId === "a0" ? { ...others, status: "unreadable", data: { code: "corrupt_log" } } : summary;
      }
    });
    const runs = await all(replayRuns(agentOn(storage), { storage }));
    expect(new Set(runs.map(({ agentId }) => agentId))).toEqual(new Set(["a0", "a1"]));
    expect(runs.every(({ result }) => result?.matches)).toBe(true);
  });

  it("counts the input and output tokens of a model that reports no total", async () => {
    const storage = await stored(4);
    const usage = { inputTokens: 6, outputTokens: 4 };
    const promptExecutor = {
      execute: async () => ({ message: { role: "assistant", content: "done" } as const, usage }),
    };
    const agent = new AIAgent({ llmModel: "small", systemPrompt: "Be short.", promptExecutor });
    const options = { concurrency: 1, budget: { tokens: 20 }, replay: { model: "live" } } as const;
    const replays = replayRuns(agent, { storage }, options);
    expect(await all(replays)).toHaveLength(2);
    expect(replays.report).toMatchObject({ tokens: 20, ended: "budget" });
  });

  it("counts first differences by node, and yields runs that cannot be replayed with their errors", async () => {
    const storage = await stored(3);
    const selection = {
      storage,
      runs: [{ agentId: "a0" }, { agentId: "a1", runId: "r" }, { agentId: "a2", runId: "s" }],
    };
    const replays = replayRuns(agentOn(storage, "Be long."), selection);
    const runs = await all(replays);
    expect(runs.find(({ agentId }) => agentId === "a2")?.error).toMatchObject({ code: "run_not_found" });
    expect(replays.report).toMatchObject({ replayed: 3, matching: 0, diverged: 2, failed: 1 });
    expect(replays.report.divergences).toMatchObject([{ nodeId: "callModel", count: 2 }]);
  });

  it("stops by its signal, by its budget and at the end of the loop, and shows progress", async () => {
    const storage = await stored(5);
    const stop = new AbortController();
    const replays = replayRuns(agentOn(storage), { storage }, { concurrency: 1, signal: stop.signal });
    await expect(
      (async () => {
        for await (const _run of replays) {
          expect(replays.report.replayed).toBe(1);
          stop.abort(new Error("enough"));
        }
      })(),
    ).rejects.toThrow("enough");
    expect(replays.report).toMatchObject({ replayed: 1, ended: "stopped" });
    const budgeted = replayRuns(agentOn(storage), { storage }, { budget: { tokens: 0 } });
    expect(await all(budgeted)).toEqual([]);
    expect(budgeted.report).toMatchObject({ replayed: 0, ended: "budget" });
    const left = replayRuns(agentOn(storage), { storage }, { concurrency: 2 });
    for await (const _run of left) break;
    expect(left.report).toMatchObject({ replayed: 1, ended: "stopped" });
  });

  it("refuses unknown options", () => {
    const storage = new InMemoryPersistenceStorageProvider();
    expect(() => replayRuns(agentOn(storage), { storage }, { concurrency: 0 })).toThrow("options of replayRuns()");
    expect(() => replayRuns(agentOn(storage), {} as never)).toThrow("selection of replayRuns()");
    expect(() => replayRuns({} as never, { storage })).toThrow("agent of replayRuns()");
    for (const runs of ["order-1", Promise.resolve([]), 1])
      expect(() => replayRuns(agentOn(storage), { storage, runs } as never)).toThrow("expected a list of runs");
    const misspelled = { replay: { modle: "live" } } as never;
    expect(() => replayRuns(agentOn(storage), { storage }, misspelled)).toThrow("modle");
  });
});
