import {
  AgentBusyError,
  type AIAgent,
  type MigratedLine,
  persistence,
  type PersistenceStorageProvider,
} from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { isCrash } from "../support/causesOf.ts";
import type { Device } from "../lines/support/liveLines.ts";
import { losingPower } from "../lines/support/losingPower.ts";
import { recordsOf } from "../support/stored.ts";
import { logStorages } from "../support/storages.ts";
import { renamedNode } from "./support/changes.ts";
import { base, type PlaceOptions, places, type Spec, type Stop } from "./support/Spec.ts";
import { cases, wholeSoak } from "../../soak/cases.ts";

const after: Spec = { ...renamedNode("two", "second"), version: 1 };

type Ended = { readonly status?: string; readonly output?: string };

/** Resumes as soon as nobody owns the agent: after a loss of power its owner may still seem to live. */
async function resumed(device: Device, agent: AIAgent): Promise<Ended> {
  for (;;) {
    try {
      return (await agent.resume({ agentId: "a" })) as Ended;
    } catch (error) {
      if (!(error instanceof AgentBusyError)) throw error;
      device.pass(error.retryAfterMs);
    }
  }
}

/** @returns 1 when the process ended before its run did. One that finds an owner ends, too: it could not note when it saw it. */
async function endsCrashed(agent: AIAgent): Promise<number> {
  try {
    await agent.resume({ agentId: "a" });
    return 0;
  } catch (error) {
    if (error instanceof AgentBusyError) return 0;
    if (!isCrash(error)) throw error;
    return 1;
  }
}

describe.each(places)("in $name, on files that lose power", (place) => {
  it("a migration cut short anywhere is stored whole or not at all, and the next resume ends the run", async () => {
    const migrations = [{ from: 0, to: 1, nodes: { [place.path("two")]: place.path("second") } }];
    let crashes = 0;
    for (let saves = 0; saves < cases(3, 24); saves++) {
      const device = losingPower(saves + 1);
      const stop: Stop = { at: "two" };
      await expect(place.agent(base, stop, device.opened()).run("in")).rejects.toThrow("stopped");
      stop.at = undefined;
      device.ended();
      const agent = (storage: PersistenceStorageProvider) => place.agent(after, stop, storage, { migrations });
      crashes += await endsCrashed(agent(device.ending(wholeSoak ? saves : saves * 3)));
      device.ended();
      const ended = await resumed(device, agent(device.opened()));
      expect(ended).toMatchObject({ status: "completed", output: "iinit" });
      const nodes = (await recordsOf(device.opened(), "a")).flatMap((record) => {
        const { kind, move, node } = record as { kind: string; move?: string; node?: string };
        return kind === "checkpoint" && move === "migration" && node === place.path("second") ? [node] : [];
      });
      expect(nodes).toHaveLength(1);
    }
    expect(crashes).toBeGreaterThan(0);
  });
});

describe.each(logStorages)("$name: after a migration", (storage) => {
  it.each(places)("in $name, the log can be pruned, and the agent can be forked and continues", async (place) => {
    const opened = await storage.open();
    const migrations = [{ from: 0, to: 1, nodes: { [place.path("two")]: place.path("second") } }];
    const stop: Stop = { at: "two" };
    const agent = (spec: Spec, options?: PlaceOptions) => place.agent(spec, stop, opened(), options);
    await expect(agent(base).run("in")).rejects.toThrow("stopped");
    stop.at = "item";
    await expect(agent(after, { migrations }).resume()).rejects.toThrow("stopped");
    const thrifty = persistence(
      agent(after, { migrations, retention: { maxCheckpointsPaused: 2, maxCheckpoints: 2 } }),
    );
    expect((await thrifty.prune()).pruned).toHaveLength(1);
    await thrifty.agent("a").fork("b");
    stop.at = undefined;
    for (const agentId of ["b", "a"]) {
      // It is not migrated again: the log tells its version.
      await expect(agent(base).resume({ agentId })).rejects.toMatchObject({ code: "strategy_changed" });
      const ended = await agent(after).resume({ agentId });
      expect(ended).toMatchObject({ status: "completed", output: "iinit" });
    }
  });

  it("strategy_changed is resolved by a rollback to a checkpoint whose node exists in the new code", async () => {
    const opened = await storage.open();
    const [place] = places;
    if (!place) throw new Error();
    const stop: Stop = { at: "three" };
    await expect(place.agent(base, stop, opened()).run("in")).rejects.toThrow("stopped");
    stop.at = undefined;
    const agent = place.agent(renamedNode("three", "last"), stop, opened());
    await expect(agent.resume()).rejects.toMatchObject({ code: "strategy_changed" });
    const outside = persistence(agent).agent("a");
    const earlier = (await outside.getCheckpoints()).find(({ nodeId }) => nodeId === "two");
    await outside.rollbackToCheckpoint(earlier?.checkpointId ?? "");
    expect(await agent.resume()).toMatchObject({ status: "completed", output: "iinil" });
  });

  it("a migration that exceeds maxCheckpointBytes fails and changes nothing", async () => {
    const opened = await storage.open();
    const [place] = places;
    if (!place) throw new Error();
    const stop: Stop = { at: "two" };
    await expect(place.agent(base, stop, opened()).run("in")).rejects.toThrow("stopped");
    stop.at = undefined;
    const before = await recordsOf(opened(), "a");
    const grow = (line: MigratedLine) => ({ ...line, storage: { ...line.storage, large: "x".repeat(9000) } });
    const migrations = [{ from: 0, to: 1, nodes: { two: "second" }, migrate: grow }];
    const small = place.agent(after, stop, opened(), { migrations, maxCheckpointBytes: 4000 });
    await expect(small.resume()).rejects.toMatchObject({ code: "checkpoint_too_large" });
    expect(await recordsOf(opened(), "a")).toEqual(before);
    const large = place.agent(after, stop, opened(), { migrations });
    expect(await large.resume()).toMatchObject({ status: "completed" });
  });

  it("many agents are checked in sequence without owning or writing", async () => {
    const many = cases(30, 1_000);
    const { opened, checking } = await forks(storage, many);
    const before = await summariesOf(opened());
    let migrated = 0;
    const checked = checking((line) => (migrated++, line));
    const first = await checked.next();
    expect([first.value?.verdict, migrated]).toEqual(["migrates", 1]);
    let count = 1;
    for await (const { verdict } of checked) {
      expect(verdict).toBe("migrates");
      count++;
    }
    expect([count, migrated]).toEqual([many, many]);
    expect(await summariesOf(opened())).toEqual(before);
  });

  it("no data of checked agents stays in memory", async () => {
    const [many, bytes] = [40, 500_000];
    const { checking } = await forks(storage, many, bytes);
    // What is loaded and compiled stays.
    await checking().next();
    const before = usedHeap();
    for await (const { verdict } of checking()) expect(verdict).toBe("migrates");
    expect(usedHeap() - before).toBeLessThan((many * bytes) / 4);
  });
});

/** An agent that stopped, and forks of it. @param bytes how long its input is */
async function forks(storage: (typeof logStorages)[number], many: number, bytes = 2) {
  const opened = await storage.open();
  const [place] = places;
  if (!place) throw new Error();
  const stop: Stop = { at: "two" };
  const source = place.agent(base, stop, opened());
  await expect(source.run("i".padEnd(bytes, "n"), { agentId: "first" })).rejects.toThrow("stopped");
  const first = persistence(source).agent("first");
  const ids = Array.from({ length: many - 1 }, (_, at) => `agent-${at + 1}`).values();
  const work = async () => {
    for (const agentId of ids) await first.fork(agentId);
  };
  await Promise.all(Array.from({ length: 8 }, work));
  const checking = (migrate = (line: MigratedLine) => line) => {
    const migrations = [{ from: 0, to: 1, nodes: { two: "second" }, migrate }];
    return persistence(place.agent(after, stop, opened(), { migrations })).checkMigrations();
  };
  return { opened, checking };
}

async function summariesOf({ log }: LogPersistenceStorageProvider): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  for await (const summary of log.list()) found.push(summary);
  return found;
}

/** After a collection, in bytes. */
function usedHeap(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}
