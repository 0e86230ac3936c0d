import {
  AgentBusyError,
  AIAgent,
  Persistence,
  persistence,
  RollbackToolRegistry,
  storageKey,
  strategy,
  type AgentContext,
  type PersistenceEvent,
  type RetentionPolicy,
} from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { scriptedModel, SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { durableAgent, type DurableOptions } from "../support/durableAgent.ts";
import { checkpointsOf, latestOf, restoredBy } from "../support/stored.ts";
import { logStorages, type Opened } from "../support/storages.ts";
import { World } from "../support/World.ts";

const day = 24 * 60 * 60 * 1000;
const round = storageKey("round", z.number());
const big = storageKey("big", z.string());

/** Rounds that book, keep a large value and rewrite their history. */
function rounds(world: World, count: number) {
  const book = world.adder("book", "idempotent");
  const registry = new RollbackToolRegistry().registerRollback(book, (_input, { toolCallId, output }) =>
    world.remove(toolCallId, output.made),
  );
  const graph = strategy<string, string>("rounds", (g) => {
    const turn = g.node("turn", async (input: string, context: AgentContext) => {
      const at = (context.storage.get(round) ?? 0) + 1;
      context.storage.set(round, at);
      context.storage.set(big, `${at} ${"x".repeat(20_000)}`);
      if (at % 4 === 0)
        context.llm.rewrite((messages) => [{ role: "user", content: `so far ${at}` }, ...messages.slice(-2)]);
      context.llm.append({ role: "user", content: `round ${at}` });
      if (at % 3 === 0) await context.tools.call(book, { item: `${at}` });
      context.recordDecision({ decision: `round ${at}` });
      return input;
    });
    g.edge(g.start, turn);
    g.edge(turn, turn, { when: () => left-- > 0 });
    g.edge(turn, g.finish, { when: () => left < 0 });
  });
  let left = count - 1;
  const again = () => void (left = count - 1);
  return { graph, again, options: { tools: [book], registry, maxIterations: 10_000 } satisfies DurableOptions };
}

/** An agent that counts down, a checkpoint for each step and one for the end. */
function counting(
  provider: LogPersistenceStorageProvider,
  atEach: (left: number, context: AgentContext) => Promise<void> = async () => {},
  retention: RetentionPolicy = {},
): AIAgent<number, string> {
  const graph = strategy<number, string>("counting", (g) => {
    const turn = g.node("turn", async (left: number, context: AgentContext) => {
      await atEach(left, context);
      return left - 1;
    });
    g.edge(g.start, turn);
    g.edge(turn, turn, { when: (left) => left > 0 });
    g.edge(turn, g.finish, { when: (left) => left === 0, map: String });
  });
  const promptExecutor = scriptedModel([]);
  const agent = new AIAgent({ id: "a", llmModel: "m", promptExecutor, strategy: graph, maxIterations: 1_000 });
  return agent.install(Persistence, { storage: provider, retention });
}

async function blobsIn(opened: Opened<LogPersistenceStorageProvider>): Promise<ReadonlySet<string>> {
  let text = "";
  for await (const entry of opened().log.read("a")) text += JSON.stringify(entry.records);
  return new Set(text.match(/blob:\/\/[0-9a-f]+-\d+(?:\.gz)?/g) ?? []);
}

describe.each(logStorages)("$name: pruning", (storage) => {
  const ran = async (count = 60, more: DurableOptions = {}) => {
    const opened = await storage.open();
    const world = new World();
    const clock = new SimulatedClock();
    const made = rounds(world, count);
    const agent = (provider = opened()) => durableAgent(made.graph, provider, { ...made.options, ...more, clock });
    await agent().run("go", { runId: "r" });
    return { opened, world, clock, agent, again: made.again };
  };

  it("keeps the first, the last and every 5th checkpoint unchanged, with all their data", async () => {
    const { opened, agent } = await ran();
    const before = await checkpointsOf(agent());
    expect(before).toHaveLength(61);
    const blobs = await blobsIn(opened);
    const { pruned, busy, bytes } = await persistence(agent()).prune();
    expect([pruned.length, pruned[0]?.dropped, busy]).toEqual([1, false, []]);
    expect(bytes).toBeGreaterThan(700_000);
    const after = await checkpointsOf(agent());
    expect(after.map(({ version }) => version)).toEqual([1, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 61]);
    const gone = before.filter(({ version }) => !after.some((kept) => kept.version === version));
    expect(pruned[0]?.checkpointIds).toEqual(gone.map(({ checkpointId }) => checkpointId));
    for (const kept of after) {
      const was = before.find(({ version }) => version === kept.version);
      expect(restoredBy(kept)).toEqual(was && restoredBy(was));
      expect([kept.checkpointId, kept.checksum]).toEqual([was?.checkpointId, was?.checksum]);
    }
    expect(after.slice(1).map(({ parentId }) => parentId)).toEqual(
      after.slice(0, -1).map(({ checkpointId }) => checkpointId),
    );
    const left = await blobsIn(opened);
    const gets = await Promise.all([...blobs].map((blob) => opened().log.blobs.get("a", blob)));
    expect(gets.filter(Boolean)).toHaveLength(13);
    expect(left.size).toBeLessThanOrEqual(blobs.size);
    expect(await agent().run("go", { runId: "r" })).toMatchObject({ status: "completed", output: "go" });
    expect((await persistence(agent()).prune()).pruned).toEqual([]);
  });

  it("does not change the calls that a later rollback reverts", async () => {
    const [one, other] = [await ran(), await ran()];
    await persistence(one.agent()).prune();
    const target = (await checkpointsOf(one.agent()))[4]?.checkpointId ?? "";
    const [report, expected] = [
      await persistence(one.agent()).agent().rollbackToCheckpoint(target),
      await persistence(other.agent()).agent().rollbackToCheckpoint(target),
    ];
    expect(report).toEqual(expected);
    expect(report.reverted.length).toBeGreaterThan(10);
    expect(one.world.items).toEqual(other.world.items);
    one.again();
    expect(await one.agent().resume()).toMatchObject({ status: "completed" });
    expect((await latestOf(one.agent())).storage["round"]).toBe(79);
    one.clock.advance(1);
    expect((await persistence(one.agent()).prune()).pruned).toHaveLength(1);
    expect((await latestOf(one.agent())).storage["round"]).toBe(79);
  });

  it("as a dry run lists the data that would be removed, and changes nothing", async () => {
    const { agent, opened } = await ran();
    const read = async () => {
      const entries: string[] = [];
      for await (const entry of opened().log.read("a")) entries.push(entry.checksum);
      return entries;
    };
    const before = await read();
    const foreseen = await persistence(agent()).prune({ dryRun: true });
    expect(await read()).toEqual(before);
    expect(await persistence(agent()).prune()).toEqual(foreseen);
  });

  it("drops a finished agent after its retention time, even if a clock jumps", async () => {
    const { agent, clock, opened } = await ran(3);
    const feature = persistence(agent());
    clock.advance(6.9 * day);
    expect((await feature.prune()).pruned).toEqual([]);
    clock.jump(1_000 * day);
    expect((await feature.prune()).pruned).toEqual([]);
    clock.jump(-2_000 * day);
    expect((await feature.prune()).pruned).toEqual([]);
    clock.jump(1_000 * day);
    clock.advance(0.1 * day);
    expect((await feature.prune()).pruned).toMatchObject([{ agentId: "a", dropped: true }]);
    expect(await checkpointsOf(agent())).toEqual([]);
    for await (const { agentId } of opened().log.list()) expect(agentId).toBe("nobody");
  });

  it("plans again if the agent ran after the first plan", async () => {
    const { opened, agent, again } = await ran();
    const provider = opened();
    const open = provider.log.open.bind(provider.log);
    vi.spyOn(provider.log, "open").mockImplementationOnce(async (...given) => {
      again();
      await agent().run("go", { runId: "s" });
      return open(...given);
    });
    expect((await persistence(agent(provider)).prune()).pruned).toHaveLength(1);
    const left = await checkpointsOf(agent());
    expect(left.at(-1)?.version).toBe(122);
    expect(left.length).toBeLessThan(20);
    expect(await agent().run("go", { runId: "s" })).toMatchObject({ status: "completed" });
    expect((await persistence(agent()).prune()).pruned).toEqual([]);
  });

  it("skips a running agent and reports it", async () => {
    const { agent, opened } = await ran();
    const owned = await opened().log.open("a", { host: "h", processId: 1, nonce: "n" });
    const feature = persistence(agent());
    expect(await feature.prune({ dryRun: true })).toMatchObject({ pruned: [], busy: ["a"] });
    expect(await feature.prune()).toMatchObject({ pruned: [], busy: ["a"] });
    await expect(feature.deleteAgent("a")).rejects.toBeInstanceOf(AgentBusyError);
    await owned.release();
    expect((await feature.prune()).pruned).toHaveLength(1);
  });

  it("happens at the end of a run if configured", async () => {
    const events: PersistenceEvent[] = [];
    const { agent } = await ran(60, { retention: {}, onEvent: (event) => void events.push(event) });
    expect(await checkpointsOf(agent())).toHaveLength(14);
    const told = events.filter(({ type }) => type === "checkpoint_pruned");
    expect(told).toMatchObject([{ agentId: "a", dropped: false }]);
    for await (const summary of (await ran(2)).opened().log.list()) expect(summary.status).toBe("completed");
  });

  it("happens at the end of a run once enough checkpoints exist, even if an owner reads a snapshot", async () => {
    const opened = await storage.open();
    const prunings: string[] = [];
    const onEvent = (event: PersistenceEvent) =>
      void (event.type === "checkpoint_pruned" && prunings.push(`after run ${runs}`));
    const writing = strategy<string, string>("writing", (g) => {
      const turn = g.node("turn", (input: string, context: AgentContext) => {
        context.storage.set(big, `${left} ${"x".repeat(9_000)}`);
        return input;
      });
      g.edge(g.start, turn);
      g.edge(turn, turn, { when: () => left-- > 0 });
      g.edge(turn, g.finish, { when: () => left < 0 });
    });
    const options = { maxIterations: 10_000, retention: { maxCheckpoints: 300 }, onEvent };
    let [left, runs] = [0, 0];
    for (const steps of [500, 150, 160, 10]) {
      [left, runs] = [steps, runs + 1];
      await durableAgent(writing, opened(), options).run("go", { runId: `r${runs}` });
      let snapshots: readonly unknown[] = [];
      for await (const { records } of opened().log.read("a", { sinceSnapshot: true }))
        snapshots = [...snapshots, ...records.filter(({ kind }) => kind === "snapshot")];
      if (runs === 2) expect(snapshots).toMatchObject([{ pruned: [502, 102] }]);
    }
    expect(prunings).toEqual(["after run 1", "after run 3"]);
  });

  it.each([
    [20, false],
    [21, false],
    [22, false],
    [99, false],
    [20, true],
    [51, true],
  ])("leaves at most 20 of %d checkpoints at the end of a run, even if it fails: %s", async (count, fails) => {
    const agent = counting((await storage.open())(), async (left) => {
      if (fails && left === 1) throw new RangeError("the last one fails");
    });
    const ended = agent.run(fails ? count : count - 1);
    if (fails) await expect(ended).rejects.toBeInstanceOf(RangeError);
    else await ended;
    const left = await persistence(agent).agent().getCheckpoints();
    expect(left.length).toBeLessThanOrEqual(20);
    expect([left[0]?.version, left.at(-1)?.version]).toEqual([1, count]);
    if (fails) await expect(agent.resume()).rejects.toBeInstanceOf(RangeError);
  });

  it("leaves at most 20 checkpoints at the end of each of several runs", async () => {
    const agent = counting((await storage.open())());
    for (let run = 1; run <= 6; run++) {
      await agent.run(11, { runId: `r${run}`, history: run % 2 === 0 ? "continue" : "fresh" });
      expect((await checkpointsOf(agent)).length).toBeLessThanOrEqual(20);
      expect(await agent.run(11, { runId: `r${run}` })).toMatchObject({ output: "0" });
    }
  });

  it("at the end of a run keeps checkpoints with given ids in addition to 20 others", async () => {
    const agent = counting((await storage.open())(), async (left, context) => {
      const checkpointId = `left ${left}`;
      await persistence(context).createCheckpoint({ nodeId: "turn", lastInput: left, checkpointId });
    });
    await agent.run(40);
    const left = (await checkpointsOf(agent)).map(({ checkpointId }) => checkpointId);
    const named = left.filter((id) => id.startsWith("left "));
    expect(named).toHaveLength(40);
    expect(left.length - named.length).toBeLessThanOrEqual(20);
  });

  it("thins a waiting agent to the limit for waiting agents, and the agent continues", async () => {
    const agent = counting(
      (await storage.open())(),
      async (left, context) => void (left === 1 && (await context.requestInput({ prompt: "?", schema: z.string() }))),
      { maxCheckpointsPaused: 8 },
    );
    const asked = await agent.run(40);
    expect(asked.status).toBe("waiting");
    const before = await checkpointsOf(agent);
    await persistence(agent).prune();
    const after = await checkpointsOf(agent);
    expect([before.length, after.length <= 8]).toEqual([40, true]);
    expect(after.at(-1)?.checkpointId).toBe(before.at(-1)?.checkpointId);
    if (asked.status !== "waiting") return;
    await persistence(agent)
      .agent()
      .answer(asked.requests[0]?.requestId ?? "", "yes");
    expect(await agent.resume()).toMatchObject({ status: "completed", output: "0" });
    expect((await checkpointsOf(agent)).length).toBeLessThanOrEqual(20);
  });

  it("thins a paused agent to the limit for paused agents, and keeps the rollback target", async () => {
    const agent = counting((await storage.open())(), undefined, { maxCheckpoints: 30, maxCheckpointsPaused: 8 });
    await agent.run(28);
    const target = (await checkpointsOf(agent))[10]?.checkpointId ?? "";
    await persistence(agent).agent().rollbackToCheckpoint(target);
    await persistence(agent).prune();
    const left = await checkpointsOf(agent);
    expect(left.map(({ checkpointId }) => checkpointId)).toContain(target);
    // The one that it was rolled back to is not counted.
    expect(left.length).toBeLessThanOrEqual(9);
    expect(await agent.resume()).toMatchObject({ status: "completed", output: "0" });
  });

  it("happens less often the more checkpoints are kept", async () => {
    const prunings: number[] = [];
    let ended = 0;
    const onEvent = ({ type }: PersistenceEvent) => void (type === "checkpoint_pruned" && prunings.push(ended));
    const { agent, again } = await ran(6, { retention: { maxCheckpoints: 4 }, onEvent });
    for (ended = 1; ended < 40; ended++) {
      again();
      await agent().run("go", { runId: `r${ended}` });
    }
    const waits = prunings.slice(1).map((at, index) => at - (prunings[index] ?? 0));
    expect(waits).toEqual([...waits].sort((a, b) => a - b));
    expect(waits.at(-1)).toBeGreaterThan(2);
  });

  it("does not change how an agent is listed, even without its state.json", async () => {
    const { agent, opened } = await ran();
    await persistence(agent()).prune();
    const listed: string[] = [];
    for await (const { agentId, status } of opened().log.list()) listed.push(`${agentId} ${status}`);
    expect(listed).toEqual(["a completed"]);
  });

  it("is not needed to delete an agent, which frees its id at once", async () => {
    const { agent, again } = await ran(3);
    await persistence(agent()).deleteAgent("a");
    expect(await checkpointsOf(agent())).toEqual([]);
    again();
    expect(await agent().run("go", { runId: "r" })).toMatchObject({ status: "completed" });
    expect((await checkpointsOf(agent()))[0]?.version).toBe(1);
  });
});
