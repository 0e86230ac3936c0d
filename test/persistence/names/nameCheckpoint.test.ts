import { InvalidInputError } from "agent-persistence";
import { AlreadyExistsError, CheckpointNotFoundError, NotSupportedError } from "agent-persistence/errors";
import { AgentBusyError, persistence, storageKey, strategy, type AIAgent } from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { durableAgent, type DurableOptions } from "../support/durableAgent.ts";
import { checkpointsOf, recordsOf } from "../support/stored.ts";
import { logStorages, RowsProvider } from "../support/storages.ts";

const large = storageKey("large", z.string());

/** Counts down, and stores `size` characters at each step. */
function counting(size = 1, within: (left: number) => Promise<void> = async () => {}) {
  return strategy<string, string>("counting", (graph) => {
    const step = graph.node("step", async (left: number, context) => {
      context.storage.set(large, String(left).padEnd(size, "."));
      await within(left);
      return left - 1;
    });
    graph.edge(graph.start, step, { map: Number });
    graph.edge(step, step, { when: (left) => left > 0 });
    graph.edge(step, graph.finish, { when: (left) => left <= 0, map: String });
  });
}

const options: DurableOptions = { maxIterations: 1_000 };
const at = (agent: AIAgent<string, string>) => persistence(agent).agent();
const namesOf = async (agent: AIAgent<string, string>) =>
  (await checkpointsOf(agent)).flatMap(({ checkpointId, name }) => (name === undefined ? [] : [[checkpointId, name]]));
const nameRecords = async (provider: LogPersistenceStorageProvider) =>
  (await recordsOf(provider)).filter(({ kind }) => kind === "name");

describe.each(logStorages)("$name: names of checkpoints", (storage) => {
  it("move to another checkpoint, can be replaced, and can be removed", async () => {
    const opened = await storage.open();
    const agent = durableAgent(counting(), opened(), options);
    await agent.run("4");
    await at(agent).nameCheckpoint("1-2", "before");
    expect(await namesOf(agent)).toEqual([["1-2", "before"]]);
    await at(agent).nameCheckpoint("1-3", "before");
    expect(await namesOf(agent)).toEqual([["1-3", "before"]]);
    await at(agent).nameCheckpoint("before", "after");
    expect(await namesOf(durableAgent(counting(), opened()))).toEqual([["1-3", "after"]]);
    await at(agent).nameCheckpoint("1-2", "before");
    await at(agent).removeCheckpointName("after");
    expect(await namesOf(agent)).toEqual([["1-2", "before"]]);
    await expect(at(agent).removeCheckpointName("after")).rejects.toThrow('Choose one of its names: "before"');
    await at(agent).removeCheckpointName("before");
    await expect(at(agent).removeCheckpointName("before")).rejects.toThrow("Its checkpoints have no names");
  });

  it("cost one append, or no append if the checkpoint already has the name", async () => {
    const opened = await storage.open();
    const provider = opened();
    const agent = durableAgent(counting(), provider, options);
    await agent.run("4");
    const before = (await recordsOf(provider)).length;
    await at(agent).nameCheckpoint("1-2", "before");
    await at(agent).nameCheckpoint("1-2", "before");
    expect((await recordsOf(provider)).slice(before)).toEqual([{ kind: "name", name: "before", version: 2 }]);
  });

  it("replace the id in a rollback, a resume and a validation", async () => {
    const opened = await storage.open();
    const agent = durableAgent(counting(), opened(), options);
    await agent.run("4");
    await at(agent).nameCheckpoint("1-2", "before");
    expect(await at(agent).validateCheckpoint("before")).toMatchObject({ checkpointId: "1-2", valid: true });
    expect(await agent.resume({ checkpointId: "before" })).toMatchObject({ output: "0" });
    const report = await at(agent).rollbackToCheckpoint("before");
    expect(report.checkpointId).toBe("1-2");
    const [, second] = await checkpointsOf(agent);
    expect(await at(agent).getLatestCheckpoint()).toMatchObject({ parentId: "1-2", lastInput: second?.lastInput });
    expect(await namesOf(agent)).toEqual([["1-2", "before"]]);
  });

  it("share one namespace with given ids, and cannot have the form of generated ids", async () => {
    const opened = await storage.open();
    const named = strategy<string, string>("named", (graph) => {
      const node = graph.node("node", async (id: string, context) => {
        await persistence(context).createCheckpoint({ checkpointId: id });
        return id;
      });
      graph.edge(graph.start, node);
      graph.edge(node, graph.finish);
    });
    const agent = durableAgent(named, opened());
    await agent.run("given");
    await expect(at(agent).nameCheckpoint("1-1", "given")).rejects.toMatchObject({ code: "checkpoint_exists" });
    await at(agent).nameCheckpoint("1-1", "free");
    await expect(agent.run("free")).rejects.toBeInstanceOf(AlreadyExistsError);
    for (const name of ["", "x".repeat(257), "3-4"])
      await expect(at(agent).nameCheckpoint("1-1", name)).rejects.toBeInstanceOf(InvalidInputError);
    await expect(at(agent).nameCheckpoint("9-9", "nine")).rejects.toBeInstanceOf(CheckpointNotFoundError);
    await at(agent).nameCheckpoint("given", "__proto__");
    expect(await namesOf(agent)).toEqual([
      ["1-1", "free"],
      ["given", "__proto__"],
    ]);
  });

  it("are kept by pruning together with their checkpoint", async () => {
    const opened = await storage.open();
    const agent = durableAgent(counting(), opened(), options);
    await agent.run("60");
    await at(agent).nameCheckpoint("1-7", "moved");
    await at(agent).nameCheckpoint("1-9", "gone");
    await at(agent).removeCheckpointName("gone");
    await at(agent).nameCheckpoint("1-13", "moved");
    await persistence(agent).prune({ policy: { maxCheckpoints: 3 } });
    const ids = (await checkpointsOf(agent)).map(({ checkpointId }) => checkpointId);
    expect(ids).toContain("1-13");
    expect(ids).not.toContain("1-7");
    expect(ids).not.toContain("1-9");
    expect(await namesOf(agent)).toEqual([["1-13", "moved"]]);
    await at(agent).removeCheckpointName("moved");
    await persistence(agent).prune({ policy: { maxCheckpoints: 2 } });
    expect(await namesOf(durableAgent(counting(), opened()))).toEqual([]);
    expect((await checkpointsOf(agent)).map(({ checkpointId }) => checkpointId)).not.toContain("1-13");
  });

  it("are part of snapshots, and naming a recent checkpoint reads only from the newest snapshot", async () => {
    const opened = await storage.open();
    const first = durableAgent(counting(9_000), opened(), options);
    await first.run("4");
    await at(first).nameCheckpoint("1-2", "before");
    await first.run("130");
    const provider = opened();
    expect((await recordsOf(provider)).findLast(({ kind }) => kind === "snapshot")).toMatchObject({
      names: { before: 2 },
    });
    const reads: unknown[] = [];
    const { log } = provider;
    const read = log.read.bind(log);
    log.read = (agentId, readOptions) => {
      reads.push(readOptions);
      return read(agentId, readOptions);
    };
    const agent = durableAgent(counting(), provider, options);
    const latest = (await at(agent).getCheckpoints()).at(-3);
    reads.length = 0;
    await at(agent).nameCheckpoint(latest?.checkpointId ?? "", "near");
    for (const each of reads) expect(each).toMatchObject({ sinceSnapshot: true });
    await at(agent).nameCheckpoint("before", "again");
    expect(await namesOf(agent)).toEqual([
      ["1-2", "again"],
      [latest?.checkpointId, "near"],
    ]);
  });

  it("can be set while an agent waits or has failed, but not while it runs", async () => {
    const opened = await storage.open();
    const provider = opened();
    let inside: unknown;
    const agent: AIAgent<string, string> = durableAgent(
      counting(1, async (left) => {
        if (left > 1) return;
        inside = await at(agent)
          .nameCheckpoint("1-1", "busy")
          .catch((error: unknown) => error);
        throw new Error("cut short");
      }),
      provider,
      options,
    );
    await expect(agent.run("2")).rejects.toThrow("cut short");
    expect(inside).toBeInstanceOf(AgentBusyError);
    expect(await nameRecords(provider)).toEqual([]);
    await at(agent).nameCheckpoint("1-1", "free");
    expect(await durableAgent(counting(), opened(), options).resume()).toMatchObject({ output: "0" });
    expect(await namesOf(agent)).toEqual([["1-1", "free"]]);
  });
});

it("a three-method storage keeps no checkpoint names", async () => {
  const agent = durableAgent(counting(), new RowsProvider(), options);
  await agent.run("1");
  await expect(at(agent).nameCheckpoint("1-1", "first")).rejects.toBeInstanceOf(NotSupportedError);
});

it("a checkpoint keeps its name when it is saved into another storage", async () => {
  const [memory] = logStorages;
  const [from, to] = [(await memory?.open())?.(), (await memory?.open())?.()];
  if (!from || !to) throw new Error("There is no storage.");
  const agent = durableAgent(counting(), from, options);
  await agent.run("2");
  await at(agent).nameCheckpoint("1-2", "second");
  for (const checkpoint of await checkpointsOf(agent)) await to.saveCheckpoint("a", checkpoint);
  expect(await namesOf(durableAgent(counting(), to))).toMatchObject([[expect.anything(), "second"]]);
});
