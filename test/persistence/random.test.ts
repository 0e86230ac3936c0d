import { persistence, type LogPersistenceStorageProvider, type RunResult } from "agent-persistence";
import { crashAfter, SimulatedCrashError } from "agent-persistence/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RandomWorld, randomRun, refused, type RandomRun } from "./randomRuns.ts";
import { checkpointsOf, latestOf, recordsOf } from "./stored.ts";
import { logStorages, storages, type Opened, type TestStorage } from "./storages.ts";

const runsOn = ({ name }: TestStorage) =>
  (process.env["SOAK"] === undefined ? 100 : 1_000) / (name === "file" ? 10 : 1);

/** Lives through all processes of a run; the last is not disturbed. */
async function live(run: RandomRun, opened: Opened): Promise<RandomWorld> {
  const random = new RandomWorld(run);
  for (const { saves, ...between } of run.processes) {
    const agent = random.agent(crashAfter(opened(), saves));
    await agent.run("go", { runId: "r" }).catch(crashed);
    if ("backTo" in between) await goBack(random, opened, between.backTo);
  }
  await complete(random, opened);
  return random;
}

async function goBack(random: RandomWorld, opened: Opened, to: number): Promise<void> {
  const agent = random.agent(opened());
  const checkpoints = await checkpointsOf(agent);
  const target = checkpoints[to % Math.max(1, checkpoints.length)]?.checkpointId ?? "none";
  await persistence(agent).agent().rollbackToCheckpoint(target).catch(refused);
}

/** A rollback that was cut short is finished and reported first; the next try goes on. */
async function complete(random: RandomWorld, opened: Opened): Promise<RunResult<string>> {
  try {
    return await random.agent(opened()).run("go", { runId: "r" });
  } catch (error) {
    if ((error as { readonly code?: string }).code !== "rollback_incomplete") throw error;
    return complete(random, opened);
  }
}

function crashed(error: unknown): void {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof SimulatedCrashError) return;
  if ((error as { readonly code?: string }).code !== "rollback_incomplete") throw error;
}

/** What the journal says of the world: calls that stand, and calls of which it does not know. */
async function journalOf(storage: LogPersistenceStorageProvider) {
  const [stands, unknown] = [new Set<string>(), new Set<string>()];
  for (const record of await recordsOf(storage)) {
    const { kind, call = "", moved, error } = record as { kind: string; call?: string; moved?: true; error?: unknown };
    if (kind === "intent" || kind === "inverse") unknown.add(call);
    if (kind === "outcome" || (kind === "reverted" && error === undefined)) unknown.delete(call);
    if (kind === "outcome" && !moved) stands.add(call);
    if (kind === "reverted" && error === undefined) stands.delete(call);
  }
  return { stands, unknown };
}

describe.each(logStorages)("$name: any run, crashed and rolled back anywhere", (storage) => {
  it("leaves the world as the journal says, and every node with the stored state", async () => {
    await fc.assert(
      fc.asyncProperty(randomRun, async (run) => {
        const opened = await storage.open();
        const { world, differences } = await live(run, opened);
        const { stands, unknown } = await journalOf(opened() as LogPersistenceStorageProvider);
        const standing = [...world.effects.keys()];
        expect(standing.filter((id) => !stands.has(id) && !unknown.has(id))).toEqual([]);
        expect([...stands].filter((id) => !world.effects.has(id) && !unknown.has(id))).toEqual([]);
        expect(world.undone.filter((id, at) => world.undone.indexOf(id) !== at)).toEqual([]);
        expect(differences).toEqual([]);
      }),
      { numRuns: runsOn(storage) },
    );
  });
});

describe.each(storages)("$name: any run, crashed and rolled back anywhere", (storage) => {
  it("ends with one recorded result, and versions that only grow", async () => {
    await fc.assert(
      fc.asyncProperty(randomRun, async (run) => {
        const opened = await storage.open();
        const random = await live(run, opened);
        const agent = random.agent(opened());
        const latest = await latestOf(agent);
        expect(await agent.run("other", { runId: latest.runId })).toMatchObject({ output: latest.lastInput });
        const versions = (await checkpointsOf(agent)).map(({ version }) => version);
        expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
        expect(random.differences).toEqual([]);
      }),
      { numRuns: runsOn(storage) / 2 },
    );
  });
});
