import { randomBytes } from "node:crypto";
import { AIAgent, Persistence, persistence, type PersistenceStorageProvider, strategy } from "agent-persistence";
import { exportAgent, importAgent } from "agent-persistence/transfer";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { TaskManager, TaskWorker } from "agent-persistence/task";
import { describe, expect, it, vi } from "vitest";
import { bytesOf, finish, inPieces, payer, storages, waitingPayer } from "./movedAgents.ts";

/** Counts to ten; `onStep` is called within each step. */
function counter(storage: PersistenceStorageProvider, onStep: (step: number) => Promise<void> = async () => {}) {
  const counting = strategy<string, number>("counting", (graph) => {
    const count = graph.node("count", async (input: string, context) => {
      const step = Number(input);
      context.llm.append({ role: "user", content: `step ${step} ${"x".repeat(500)}` });
      await onStep(step);
      return step + 1;
    });
    graph.edge(graph.start, count);
    graph.edge(count, count, { when: (step) => step < 10, map: String });
    graph.edge(count, graph.finish, { when: (step) => step >= 10 });
  });
  return new AIAgent({
    id: "counter",
    llmModel: "none",
    promptExecutor: { execute: () => Promise.reject(new Error("No model is asked.")) },
    strategy: counting,
  }).install(Persistence, { storage });
}

const idsOf = async (storage: PersistenceStorageProvider, agentId: string) =>
  (await persistence(counter(storage)).agent(agentId).getCheckpoints()).map(({ checkpointId }) => checkpointId);

/** Each archive has the first checkpoints of the agent, all that were durable before, and goes on from there. */
async function expectPrefixes(source: LogPersistenceStorageProvider, agentId: string, archives: readonly Buffer[]) {
  const all = await idsOf(source, agentId);
  expect(archives.length).toBeGreaterThan(5);
  for (const [at, archive] of archives.entries()) {
    const target = await storages["memory"]!();
    await importAgent(target, inPieces(archive, 5000));
    const ids = await idsOf(target, agentId);
    expect(ids).toEqual(all.slice(0, ids.length));
    expect(ids.length).toBeGreaterThanOrEqual(Math.min(at, 1));
    expect(await counter(target).resume({ agentId, takeOver: true })).toMatchObject({ output: 10 });
  }
}

describe.each(Object.keys(storages))("an export from %s", (name) => {
  it("while the agent runs contains a durable prefix that can continue", async () => {
    const source = await storages[name]!();
    const archives: Buffer[] = [];
    const take = async () => void archives.push(await bytesOf(exportAgent(source, "a")));
    await counter(source, take).run("0", { agentId: "a" });
    await expectPrefixes(source, "a", archives);
  });

  it("while a worker runs the agent contains a durable prefix that can continue", async () => {
    const source = await storages[name]!();
    const archives: Buffer[] = [];
    const agentId = "task";
    const agent = counter(source, async () => void archives.push(await bytesOf(exportAgent(source, agentId))));
    const tasks = new TaskManager({ storage: source });
    await tasks.create({ taskId: agentId, taskName: "count", inputRequest: "0" });
    await new TaskWorker({ tasks, agents: agent }).run();
    await expectPrefixes(source, agentId, archives);
  });

  it.each([false, true])("is read on demand and no further (gzip: %s)", async (gzip) => {
    const source = await storages[name]!();
    const agent = counter(source);
    await agent.run("9", { agentId: "a" });
    const durable = persistence(agent).agent("a");
    for (let at = 0; at < 8; at++) await durable.note({ key: "large", value: randomBytes(200_000).toString("base64") });
    const gets = vi.spyOn(source.log.blobs, "get");
    const archive = exportAgent(source, "a", { gzip });
    await archive.next();
    await archive.next();
    const soFar = gets.mock.calls.length;
    await archive.return();
    expect(soFar).toBeLessThan(7);
    await bytesOf(exportAgent(source, "a", { gzip }));
    expect(gets.mock.calls.length).toBeGreaterThanOrEqual(soFar + 8);
  });

  it("while the agent is deleted ends with an error, even after its last read", async () => {
    const source = await storages[name]!();
    const { feature } = await waitingPayer(source);
    const { log } = source;
    const lines = log.encodedAppends!.bind(log);
    let reads = 0;
    vi.spyOn(log, "encodedAppends").mockImplementation(async function* (...given) {
      // The first pass keeps all lines, and the next one only looks whether the log is there.
      if (++reads === 2) await feature.deleteAgent("order-7");
      yield* lines(...given);
    });
    await expect(bytesOf(exportAgent(source, "order-7"))).rejects.toMatchObject({ code: "unreadable_value" });
    expect(reads).toBeGreaterThan(1);
  });

  it.each([0, 1, 2])("while the agent is deleted, after %i of its blobs, ends with an error", async (after) => {
    const source = await storages[name]!();
    const { agent, feature } = payer(source);
    for (const to of ["ann", "bob", "eve"]) await agent.run(to, { agentId: "order-7", unfinished: "abandon" });
    const { blobs } = source.log;
    const get = blobs.get.bind(blobs);
    let gets = 0;
    vi.spyOn(blobs, "get").mockImplementation(async (agentId, reference) => {
      if (gets++ === after) await feature.deleteAgent("order-7");
      return get(agentId, reference);
    });
    await expect(bytesOf(exportAgent(source, "order-7"))).rejects.toMatchObject({ code: "unreadable_value" });
    expect(gets).toBeGreaterThan(after);
  });

  it("while the agent is pruned contains the agent before or after it, or reports the pruning", async () => {
    for (const after of [0, 1, 2]) {
      const source = await storages[name]!();
      const made = payer(source);
      for (const to of ["ann", "bob", "eve"]) {
        await made.agent.run(to, { agentId: "order-7" });
        await finish(made);
      }
      const { blobs } = source.log;
      const get = blobs.get.bind(blobs);
      let gets = 0;
      const spy = vi.spyOn(blobs, "get").mockImplementation(async (agentId, reference) => {
        if (gets++ === after) await made.feature.prune({ agentId: "order-7", policy: { maxCheckpoints: 2 } });
        return get(agentId, reference);
      });
      const archive = await bytesOf(exportAgent(source, "order-7")).catch((error: unknown) => error);
      spy.mockRestore();
      expect(gets).toBeGreaterThan(after);
      if (!Buffer.isBuffer(archive)) {
        expect(archive).toMatchObject({ code: "unreadable_value" });
        continue;
      }
      const target = await storages["memory"]!();
      await importAgent(target, inPieces(archive, 5000));
      const [kept] = await Promise.all([
        target.getCheckpoints("order-7"),
        payer(target).feature.agent("order-7").getMessages(),
      ]);
      // Every value of every checkpoint is read.
      expect(JSON.stringify(kept).length).toBeGreaterThan(0);
    }
  });
});
