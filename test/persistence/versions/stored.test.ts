import {
  AgentBusyError,
  type AIAgent,
  type MigratedLine,
  persistence,
  type PersistenceStorageProvider,
} from "agent-persistence";
import { SimulatedCrashError } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import type { Device } from "../lines/support/liveLines.ts";
import { losingPower } from "../lines/support/losingPower.ts";
import { recordsOf } from "../support/stored.ts";
import { logStorages } from "../support/storages.ts";
import { renamedNode } from "./support/changes.ts";
import { base, type PlaceOptions, places, type Spec, type Stop } from "./support/Spec.ts";

const after: Spec = { ...renamedNode("two", "second"), version: 1 };

type Ended = { readonly status?: string; readonly output?: string };

/** Resumes as soon as nobody owns the agent. @returns what became of it, or a loss of power in between */
async function resumed(device: Device, open: () => AIAgent): Promise<Ended | SimulatedCrashError> {
  for (;;) {
    try {
      return (await open().resume({ agentId: "a" })) as Ended;
    } catch (error) {
      if (error instanceof SimulatedCrashError) return error;
      if (error instanceof Error && error.cause instanceof SimulatedCrashError) return error.cause;
      if (!(error instanceof AgentBusyError)) throw error;
      device.pass(error.retryAfterMs);
    }
  }
}

describe.each(places)("in $name, on files that lose power", (place) => {
  it("a migration cut short anywhere is there or not, and the next resume ends the run", async () => {
    const migrations = [{ from: 0, to: 1, nodes: { [place.path("two")]: place.path("second") } }];
    let crashes = 0;
    for (let saves = 0; saves < 6; saves++) {
      const device = losingPower(saves + 1);
      const stop: Stop = { at: "two" };
      await expect(place.agent(base, stop, device.opened()).run("in")).rejects.toThrow("stopped");
      stop.at = undefined;
      device.ended();
      const agent = (storage: PersistenceStorageProvider) => place.agent(after, stop, storage, { migrations });
      const first = await resumed(device, () => agent(device.ending(saves * 3)));
      crashes += first instanceof SimulatedCrashError ? 1 : 0;
      device.ended();
      const ended = await resumed(device, () => agent(device.opened()));
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
  it.each(places)("in $name, the log is pruned, and the agent is forked and goes on", async (place) => {
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

  it("new code that has a checkpoint's node leads past strategy_changed by a rollback, to the end", async () => {
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

  it("what a migration adds is bounded by maxCheckpointBytes, and nothing has changed then", async () => {
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

  it("many agents are checked one after the other: nothing is owned or written", async () => {
    const opened = await storage.open();
    const [place] = places;
    if (!place) throw new Error();
    const stop: Stop = { at: "two" };
    await expect(place.agent(base, stop, opened()).run("in", { agentId: "first" })).rejects.toThrow("stopped");
    const source = persistence(place.agent(base, stop, opened())).agent("first");
    const many = 60;
    for (let at = 1; at < many; at++) await source.fork(`agent-${at}`);
    const log = opened().log;
    const heads = async () => {
      const found: unknown[] = [];
      for await (const summary of log.list()) found.push(summary);
      return found;
    };
    const before = await heads();
    let migrated = 0;
    const migrations = [
      { from: 0, to: 1, nodes: { two: "second" }, migrate: (line: MigratedLine) => (migrated++, line) },
    ];
    const checked = persistence(place.agent(after, stop, opened(), { migrations })).checkMigrations();
    const first = await checked.next();
    expect([first.value?.verdict, migrated]).toEqual(["migrates", 1]);
    let count = 1;
    for await (const { verdict } of checked) {
      expect(verdict).toBe("migrates");
      count++;
    }
    expect([count, migrated]).toEqual([many, many]);
    expect(await heads()).toEqual(before);
  });
});
