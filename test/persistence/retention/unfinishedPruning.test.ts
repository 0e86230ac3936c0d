import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  persistence,
  StorageError,
  storageKey,
  strategy,
  type AgentContext,
  type PersistenceEvent,
} from "agent-persistence";
import { LogPersistenceStorageProvider, type RecordLog } from "agent-persistence/storage";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { FaultyFileSystem } from "../../storage/file/support/FaultyFileSystem.ts";
import { delegatingLog } from "../../testing/delegatingLog.ts";
import { durableAgent, type DurableOptions } from "../support/durableAgent.ts";
import { checkpointsOf } from "../support/stored.ts";
import { logStorages } from "../support/storages.ts";
import { every } from "../../soak/cases.ts";

const big = storageKey("big", z.string());
const retention = { maxCheckpoints: 3 };
const full = () => Promise.reject(new StorageError("full", "write", "a device"));

/** Six rounds, each with a value too large for the log. */
const rounds = strategy<string, string>("rounds", (g) => {
  const turn = g.node("turn", (input: string, context: AgentContext) => {
    context.storage.set(big, `${input} ${"x".repeat(20_000)}`);
    return `${input}.`;
  });
  g.edge(g.start, turn, { map: () => "" });
  g.edge(turn, turn, { when: (input) => input.length < 6 });
  g.edge(turn, g.finish, { when: (input) => input.length >= 6 });
});

async function storedBlobs(log: RecordLog, references: readonly string[]): Promise<number> {
  const found = await Promise.all(references.map((reference) => log.blobs.get("a", reference)));
  return found.filter(Boolean).length;
}

/** The blobs that the newest pruning names. */
async function prunedBlobs(log: RecordLog): Promise<readonly string[]> {
  let named: readonly string[] = [];
  for await (const { records } of log.read("a"))
    for (const record of records)
      if (record.kind === "pruned") named = (record as unknown as { blobs: string[] }).blobs;
  return named;
}

describe.each(logStorages)("$name: a recorded pruning that could not remove its bytes", (storage) => {
  const ran = async (options: DurableOptions = {}) => {
    const log = (await storage.open())().log;
    const events: PersistenceEvent[] = [];
    let failing: "prune" | "delete" | undefined;
    const blobs = {
      put: log.blobs.put.bind(log.blobs),
      get: log.blobs.get.bind(log.blobs),
      delete: (agentId: string, reference: string) =>
        failing === "delete" ? full() : log.blobs.delete(agentId, reference),
    };
    const change = delegatingLog(log, { blobs }, (owned) => ({
      prune: () => (failing === "prune" ? full() : owned.prune()),
    }));
    const agent = durableAgent(rounds, new LogPersistenceStorageProvider(change), {
      ...options,
      onEvent: (event) => void events.push(event),
    });
    const told = () => events.map(({ type }) => type).filter((type) => type.includes("prun"));
    return { agent, log, told, fail: (what?: "prune" | "delete") => void (failing = what) };
  };
  const unremoved = (log: RecordLog) => log.unremovedBytes?.("a");

  it.each(["prune", "delete"] as const)("is reported, and finished by the next pruning: %s", async (what) => {
    const { agent, log, told, fail } = await ran();
    await agent.run("go", { runId: "r" });
    const feature = persistence(agent);
    expect(await unremoved(log)).toBe(0);
    fail(what);
    const report = await feature.prune({ policy: retention });
    expect(report).toMatchObject({
      pruned: [{ agentId: "a", outstanding: { code: "storage_failed", reason: "full" } }],
      failed: [],
    });
    const kept = await checkpointsOf(agent);
    expect(kept).toHaveLength(7 - (report.pruned[0]?.checkpointIds.length ?? 0));
    expect(kept.length).toBeLessThan(5);
    expect(told()).toEqual(["checkpoint_pruned"]);
    const left = await unremoved(log);
    expect(left).toBeGreaterThan(500);
    fail();
    const rest = [{ agentId: "a", dropped: false, checkpointIds: [], bytes: left }];
    expect((await feature.prune({ policy: retention, dryRun: true })).pruned).toEqual(rest);
    expect(await unremoved(log)).toBe(left);
    expect((await feature.prune({ policy: retention })).pruned).toEqual(rest);
    expect([await unremoved(log), await storedBlobs(log, await prunedBlobs(log))]).toEqual([0, 0]);
    expect(await checkpointsOf(agent)).toEqual(kept);
    expect(told()).toEqual(["checkpoint_pruned"]);
    expect((await feature.prune({ policy: retention })).pruned).toEqual([]);
  });

  it("at the end of a run is reported, and finished by the next pruning that is due", async () => {
    const { agent, log, told, fail } = await ran({ retention });
    fail("prune");
    await agent.run("go", { runId: "r" });
    expect(told()).toEqual(["checkpoint_pruned", "pruning_failed"]);
    expect(await unremoved(log)).toBeGreaterThan(500);
    fail();
    await agent.run("go", { runId: "s" });
    expect(told()).toEqual(["checkpoint_pruned", "pruning_failed", "checkpoint_pruned"]);
    expect([await unremoved(log), await storedBlobs(log, await prunedBlobs(log))]).toEqual([0, 0]);
  });
});

/** Of so many calls, one fails. */
const stride = every(6, 1);

it("a pruning on a disk that fills at any call reports correctly, and the next pruning finishes", async () => {
  const directory = await mkdtemp(join(tmpdir(), "agent-persistence-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const open = (name: string, fileSystem: FaultyFileSystem) =>
    new FilePersistenceStorageProvider({ directory: join(directory, name), fileSystem, reserveBytes: 0 });
  await durableAgent(rounds, open("0", new FaultyFileSystem())).run("go", { runId: "r" });
  const outcomes = new Set<string>();
  for (let call = 1; !outcomes.has("removed"); call += stride) {
    await cp(join(directory, "0"), join(directory, `${call}`), { recursive: true });
    const fileSystem = new FaultyFileSystem();
    const provider = open(`${call}`, fileSystem);
    const agent = durableAgent(rounds, provider);
    const prune = () => persistence(agent).prune({ agentId: "a", policy: retention });
    fileSystem.failAt(call, "ENOSPC", true);
    const { pruned, failed } = await prune();
    const failedAnywhere = fileSystem.calls.length >= call;
    fileSystem.heal();
    const left = (await checkpointsOf(agent)).length;
    if (failed.length === 0) expect(left).toBeLessThan(5);
    const outcome = failed.length > 0 ? "failed" : pruned[0]?.outstanding ? "outstanding" : "pruned";
    outcomes.add(failedAnywhere ? outcome : "removed");
    expect((await prune()).failed).toEqual([]);
    expect(await provider.log.unremovedBytes?.("a")).toBe(0);
    expect((await checkpointsOf(agent)).length).toBeLessThan(5);
  }
  expect([...outcomes]).toEqual(["failed", "outstanding", "pruned", "removed"]);
});
