import { AgentBusyError, persistence } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { crashAfter, SimulatedFileSystem } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { isCrash } from "../support/causesOf.ts";
import { Machine } from "../../powerloss/Machine.ts";
import { CountedFiles } from "../support/CountedFiles.ts";
import { logStorages } from "../support/storages.ts";
import { every, soak } from "../../soak/cases.ts";
import { World } from "../support/World.ts";
import { office, officeItems, officeOutput } from "./support/office.ts";

const size = { steps: 60, bytes: 9_900 };

/** The positions of the appends with a snapshot. */
async function snapshotsIn({ log }: LogPersistenceStorageProvider): Promise<readonly number[]> {
  const positions: number[] = [];
  for await (const { position, records } of log.read("a"))
    if (records.some(({ kind }) => kind === "snapshot")) positions.push(position);
  return positions;
}

/** Resumes until nothing is asked any more. */
async function finished(agent: () => ReturnType<ReturnType<typeof office>>): Promise<unknown> {
  const first = await agent().run("go", { runId: "r" });
  if (first.status !== "waiting") return first;
  const [request] = await persistence(agent()).agent("a").getRequests();
  return agent().resume({ answers: { [request?.requestId ?? ""]: true } });
}

function expectWhole(result: unknown, world: World, note: string): void {
  expect({ note, result }).toMatchObject({ note, result: { status: "completed", output: officeOutput } });
  expect({ note, items: world.items }).toEqual({ note, items: officeItems(size) });
}

it("an open of an agent with open lines reads at most a fixed multiple of the current state", async () => {
  const read = async (steps: number) => {
    const files = await CountedFiles.create();
    const build = office(new World(), { ...size, steps });
    const run = await files.count(() => build(files.open()).run("go", { runId: "r" }));
    const whole = await files.count(() => snapshotsIn(files.open()));
    const open = await files.count(() => build(files.open()).resume());
    return { run, whole, open };
  };
  const [short, long] = [await read(70), await read(210)];
  expect(long.run.bytesWritten).toBeGreaterThan(2 * short.run.bytesWritten);
  // What is appended until a snapshot is due is a megabyte: some 1,200 records here.
  for (const { recordsRead } of [short.open, long.open]) expect(recordsRead).toBeLessThan(1_600);
  // For its snapshots the run reads what it appended, some of it again where a snapshot was too large.
  for (const { run, whole } of [short, long]) expect(run.recordsRead).toBeLessThan(3 * whole.recordsRead);
});

describe.each(logStorages)("$name: a run with open lines", (storage) => {
  it("continues from a snapshot after a crash at any append around it", async () => {
    const undisturbed = await storage.open();
    const world = new World();
    await office(world, size)(undisturbed()).run("go", { runId: "r" });
    const [at = 0] = await snapshotsIn(undisturbed());
    expect(at).toBeGreaterThan(0);
    let begunAtSnapshot = 0;
    for (const saves of (soak ? [-1, 0, 1, 4, 6] : [-1, 0, 4]).map((after) => at + after)) {
      const [own, opened] = [new World(), await storage.open()];
      const build = office(own, size);
      await expect(build(crashAfter(opened(), saves)).run("go", { runId: "r" })).rejects.toSatisfy(isCrash);
      if ((await snapshotsIn(opened())).length > 0) begunAtSnapshot++;
      expectWhole(await finished(() => build(opened())), own, `after ${saves} appends`);
      const steps = own.nodes.filter((node) => /^[xy] /.test(node));
      // The step of each researcher that was not recorded runs again.
      expect(steps.length - new Set(steps).size).toBeLessThanOrEqual(4);
    }
    expect(begunAtSnapshot).toBeGreaterThan(0);
  });
});

it("a run with open lines continues from a snapshot after a power loss at any moment around it", async () => {
  const fileSystem = new SimulatedFileSystem();
  const first = new Machine().start(fileSystem);
  const world = new World();
  const provider = new FilePersistenceStorageProvider(first.options);
  const around: number[] = [];
  const { log } = provider;
  const open = log.open.bind(log);
  log.open = async (...args) => {
    const owned = await open(...args);
    const append = owned.append.bind(owned);
    owned.append = async (entry, expected) => {
      const before = fileSystem.position;
      const position = await append(entry, expected);
      if (entry.snapshot && around.length === 0) for (let at = before; at <= fileSystem.position; at++) around.push(at);
      return position;
    };
    return owned;
  };
  await office(world, size)(provider).run("go", { runId: "r" });
  expect(around.length).toBeGreaterThan(0);
  const stride = every(6, 1);
  for (const after of around.filter((_, at) => at % stride === 0))
    for (const state of fileSystem.crashStates(after, { samples: 1, seed: 7 })) {
      const own = new World();
      const process = new Machine().start(state.restart());
      const build = office(own, size);
      const storage = new FilePersistenceStorageProvider(process.options);
      const result = await finished(() => build(storage)).catch((error: unknown) => {
        if (!(error instanceof AgentBusyError)) throw error;
        process.clock.advance(error.retryAfterMs);
        return finished(() => build(storage));
      });
      const { description } = state;
      expect({ description, result }).toMatchObject({ description, result: { output: officeOutput } });
      const steps = own.nodes.filter((node) => node !== "desk");
      expect({ description, ran: steps.length }).toEqual({ description, ran: new Set(steps).size });
    }
});
