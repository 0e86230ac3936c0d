import fc from "fast-check";
import { type AgentCheckpointData, type DurableAgent, type PendingRequest, persistence } from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { assertSoundLog, readPaced } from "../../../src/storage/readEntries.ts";
import { linesAgent } from "../lines/support/linesAgent.ts";
import { comparable, LinesWorld } from "../lines/support/LinesWorld.ts";
import { crashing, goOn, goPartly, livePartly, undisturbed } from "../lines/support/liveLines.ts";
import { linesOf, type RandomLines } from "../lines/support/randomLines.ts";
import { logStorages, type Opened } from "../support/storages.ts";
import { recordsOf } from "../support/stored.ts";

type Storages = Opened<LogPersistenceStorageProvider>;

const memory = logStorages[0] as (typeof logStorages)[number];
const soak = process.env["SOAK"] !== undefined;
const counts: Readonly<Record<string, number>> = soak ? { memory: 60, file: 6 } : { memory: 3, file: 1 };

interface Life {
  readonly lines: RandomLines;
  readonly opened: Storages;
  readonly world: LinesWorld;
}

const agentIn = ({ world, opened }: Life, agentId: string): DurableAgent =>
  persistence(linesAgent(world, opened())).agent(agentId);

/** A world for a fork: of what was done before, only what the fork has the outcomes of. */
async function worldOf({ lines, opened, world }: Life, forkId: string): Promise<LinesWorld> {
  const own = new LinesWorld({ ...lines, moves: 0, processes: [] }, false);
  own.clock = new SimulatedClock(world.clock.now());
  for (const record of (await recordsOf(opened(), forkId)) as readonly {
    kind: string;
    call?: string;
    output?: unknown;
  }[]) {
    const effect = record.kind === "outcome" && "output" in record ? world.effects.get(record.call ?? "") : undefined;
    if (effect) own.effects.set(effect.toolCallId, effect);
  }
  return own;
}

const whatIs = (shown: unknown): unknown => JSON.parse(JSON.stringify(shown));
/**
 * Without the branches: only the newest checkpoint of a line shows those of now. A checkpoint is told by its version: if another
 * took its id later, it has the id only in forks from before.
 */
async function shownIn(agent: DurableAgent): Promise<unknown[]> {
  const checkpoints = await agent.getCheckpoints();
  const versions = new Map(checkpoints.map(({ checkpointId, version }) => [checkpointId, version]));
  const told = (id: string | undefined) => versions.get(id ?? "") ?? id;
  return checkpoints.map((data) =>
    whatIs({
      ...data,
      agentId: "",
      branches: [],
      checkpointId: told(data.checkpointId),
      parentId: told(data.parentId),
    }),
  );
}
/** Those that go on. Of a called agent that has ended, the caller has the output. */
async function branchesOf(agent: DurableAgent): Promise<unknown> {
  const branches = (await agent.getLatestCheckpoint())?.branches ?? [];
  return whatIs(branches.filter(({ path, status }) => path.includes("#") || status !== "completed"));
}

const ids: readonly string[] = ["requestId", "toolCallId", "askedAt"];
async function requestsIn(agent: DurableAgent): Promise<string[]> {
  const requests: readonly PendingRequest[] = await agent.getRequests();
  const texts = requests.map((each) => JSON.stringify(each, (key, value: unknown) => (ids.includes(key) ? "" : value)));
  return texts.sort();
}

const leftBy = ({ messageHistory, storage, lastInput }: AgentCheckpointData): unknown => ({
  output: lastInput,
  messages: comparable(messageHistory),
  storage,
});

/** What an undisturbed run of the same leaves. */
async function wantedOf(lines: RandomLines): Promise<{ readonly left: unknown; readonly items: readonly string[] }> {
  const opened = await memory.open();
  const world = await undisturbed(lines, opened);
  const latest = await persistence(linesAgent(world, opened())).agent("a").getLatestCheckpoint();
  return { left: latest && leftBy(latest), items: world.items };
}

/** Goes on with a fork, and says what it leaves. */
async function endOf(
  life: Life,
  forkId: string,
  inWorld?: LinesWorld,
): Promise<{ readonly left: unknown; readonly world: LinesWorld }> {
  const world = inWorld ?? (await worldOf(life, forkId));
  await goOn(world, crashing(life.opened), forkId);
  const agent = persistence(linesAgent(world, life.opened())).agent(forkId);
  const latest = await agent.getLatestCheckpoint();
  const { structural, integrity } = await agent.validateCheckpoint();
  expect(Object.values({ ...structural, ...integrity }).filter(({ ok }) => !ok)).toEqual([]);
  expect(world.problems).toEqual([]);
  await assertSoundLog(await readPaced(life.opened().log, forkId));
  return { left: latest && leftBy(latest), world };
}

async function checkForks(lines: RandomLines, at: number, opened: Storages): Promise<void> {
  const wanted = await wantedOf(lines);
  const life = { lines, opened, world: await livePartly(lines, crashing(opened)) };
  const before = await readPaced(opened().log, "a");
  if (before.length === 0) return;
  const a = agentIn(life, "a");
  const fork = await a.fork("b");
  const again = await fork.fork("c");
  const shown = await shownIn(a);
  expect((await shownIn(fork)).slice(0, shown.length)).toEqual(shown);
  expect(await readPaced(opened().log, "a")).toEqual(before);
  expect((await readPaced(opened().log, "b")).slice(0, before.length)).toEqual(before);
  const records = await recordsOf(opened());
  // The status after a rollback does not list what other lines wait for, until they run again.
  const listsAll = !records.some(({ kind }) => kind === "rollback");
  const isGoingBack = records.reduce(
    (open, { kind }) => (kind === "rollback" ? true : kind === "rollback_end" ? false : open),
    false,
  );
  if (!isGoingBack) {
    expect(await fork.getMessages()).toEqual(await a.getMessages());
    expect(await branchesOf(fork)).toEqual(await branchesOf(a));
    const [asked, inFork] = [await requestsIn(a), await requestsIn(fork)];
    expect(inFork).toEqual(listsAll ? asked : expect.arrayContaining(asked));
    expect(await requestsIn(again)).toEqual(inFork);
  }
  const checkpoints = await a.getCheckpoints();
  const point = checkpoints[at % Math.max(1, checkpoints.length)];
  if (point) {
    const early = await a.fork("d", { checkpointId: point.checkpointId });
    const upTo = (await shownIn(early)).filter((each) => (each as AgentCheckpointData).version <= point.version);
    expect(upTo).toEqual(shown.slice(0, upTo.length));
    expect((await endOf(life, "d")).left).toEqual(wanted.left);
  }
  const world = await worldOf(life, "b");
  await goPartly(world, crashing(opened), "b", at);
  await fork.fork("e");
  const parents: Readonly<Record<string, Life>> = { b: life, c: life, e: { ...life, world } };
  for (const [id, parent] of Object.entries(parents)) {
    const end = await endOf(parent, id, id === "b" ? world : undefined);
    expect(end.left).toEqual(wanted.left);
    if (!isGoingBack) expect(end.world.items).toEqual(wanted.items);
  }
  const forked = await readPaced(opened().log, "b");
  expect(await readPaced(opened().log, "a")).toEqual(before);
  await goOn(life.world, crashing(opened), "a");
  const latest = await a.getLatestCheckpoint();
  expect(latest && leftBy(latest)).toEqual(wanted.left);
  expect(life.world.items).toEqual(wanted.items);
  expect(life.world.problems).toEqual([]);
  expect(await readPaced(opened().log, "b")).toEqual(forked);
}

describe.each(logStorages)("$name: random forks", (storage) => {
  it.each([1, 2])(
    "of any run with branches and called agents %i deep, anywhere, equal their moment, end as the run would, and see nothing of each other",
    async (depth) => {
      const numRuns = Math.ceil((counts[storage.name] ?? 1) / depth ** 2);
      await fc.assert(
        fc.asyncProperty(linesOf(depth), fc.nat(40), async (lines, at) => {
          await checkForks(lines, at, await storage.open());
        }),
        { numRuns, timeout: 60_000 },
      );
    },
  );
});
