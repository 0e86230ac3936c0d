import { cpSync } from "node:fs";
import { type AgentCheckpointData, type DurableAgent, type PendingRequest, persistence } from "agent-persistence";
import { exportAgent, importAgent } from "agent-persistence/transfer";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { SimulatedClock } from "agent-persistence/testing";
import { expect } from "vitest";
import { assertSoundLog, readPaced } from "../../../../src/storage/readEntries.ts";
import { linesAgent } from "../../lines/support/linesAgent.ts";
import { ancestorsIn, comparable, LinesWorld } from "../../lines/support/LinesWorld.ts";
import { crashing, goOn, goPartly, livePartly, undisturbed } from "../../lines/support/liveLines.ts";
import type { RandomLines } from "../../lines/support/randomLines.ts";
import { memory, type Opened } from "../../support/storages.ts";
import { recordsOf } from "../../support/stored.ts";
import { bytesOf } from "../../../transfer/movedAgents.ts";
import { temporaryFolder, treeOf } from "../../../workspace/fixture.ts";

type Storages = Opened<LogPersistenceStorageProvider>;

interface Life {
  readonly lines: RandomLines;
  readonly opened: Storages;
  readonly world: LinesWorld;
}

const agentIn = ({ world, opened }: Life, agentId: string): DurableAgent =>
  persistence(linesAgent(world, opened())).agent(agentId);

interface CallRecord {
  readonly kind: string;
  readonly call: string;
}

/** A world for a fork: of what was done before, only calls that are over, and a folder of its own. */
async function worldOf({ lines, opened, world }: Life, forkId: string): Promise<LinesWorld> {
  const own = new LinesWorld({ ...lines, moves: 0, processes: [] }, false);
  own.clock = new SimulatedClock(world.clock.now());
  own.folder = copyOf(world.folder);
  const isOver = new Map<string, boolean>();
  for (const record of (await recordsOf(opened(), forkId)) as readonly CallRecord[])
    if (record.kind === "intent") isOver.set(record.call, false);
    else if (record.kind === "outcome" && "output" in record) isOver.set(record.call, true);
  // Of calls that pruning has removed nothing is left to say.
  for (const [id, effect] of world.effects) if (isOver.get(id) !== false) own.effects.set(id, effect);
  return own;
}

function copyOf(folder = temporaryFolder()): string {
  const copy = temporaryFolder();
  cpSync(folder, copy, { recursive: true });
  return copy;
}

const filesIn = ({ folder }: LinesWorld): unknown => folder !== undefined && treeOf(folder);

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
async function wantedOf(lines: RandomLines): Promise<{ readonly left: unknown; readonly world: LinesWorld }> {
  const opened = await memory.open();
  const world = await undisturbed(lines, opened, temporaryFolder());
  const latest = await persistence(linesAgent(world, opened())).agent("a").getLatestCheckpoint();
  return { left: latest && leftBy(latest), world };
}

/** Goes on with a fork, and says what it leaves. */
async function endOf(life: Life, forkId: string, world: LinesWorld): Promise<unknown> {
  await goOn(world, crashing(life.opened), forkId);
  const agent = persistence(linesAgent(world, life.opened())).agent(forkId);
  const latest = await agent.getLatestCheckpoint();
  const { structural, integrity } = await agent.validateCheckpoint();
  expect(Object.values({ ...structural, ...integrity }).filter(({ ok }) => !ok)).toEqual([]);
  expect(world.problems).toEqual([]);
  await assertSoundLog(await readPaced(life.opened().log, forkId));
  return latest && leftBy(latest);
}

/** Nothing that was done before the fork is reverted, and all that the fork did is. */
async function checkTakenBack(life: Life, forkId: string, before: LinesWorld, world: LinesWorld): Promise<void> {
  const fork = persistence(linesAgent(world, life.opened())).agent(forkId);
  const shared = new Set((await agentIn(life, "a").getCheckpoints()).map(({ checkpointId }) => checkpointId));
  const [first] = shared;
  if (first === undefined) return;
  // Pruning may have removed what leads to the first.
  const ancestors = await fork.rollbackToCheckpoint(first).then(() => undefined, ancestorsIn);
  if (ancestors) {
    if (!shared.has(ancestors[0] ?? "none")) return;
    await fork.rollbackToCheckpoint(ancestors[0] ?? "none");
  }
  expect(world.items).toEqual(before.items);
  expect(filesIn(world)).toEqual(filesIn(before));
}

/** Exported, imported elsewhere and exported there, an agent is the same bytes. */
async function checkArchive(opened: Storages, agentId: string): Promise<void> {
  const archive = await bytesOf(exportAgent(opened(), agentId));
  const there = await memory.open();
  await importAgent(there(), exportAgent(opened(), agentId, { gzip: true }), { trustApprovals: true });
  expect(Buffer.compare(await bytesOf(exportAgent(there(), agentId)), archive)).toBe(0);
}

/** Whether a rollback has begun and not ended. */
async function isGoingBackIn(opened: Storages): Promise<boolean> {
  const records = await recordsOf(opened());
  return records.findLast(({ kind }) => kind === "rollback" || kind === "rollback_end")?.kind === "rollback";
}

/** A fork of the head, and one of that, have what the agent has. They ask again for what was approved and not made yet. */
async function checkMoment(a: DurableAgent, forks: readonly DurableAgent[]): Promise<void> {
  const asked = await requestsIn(a);
  for (const fork of forks) {
    expect(await fork.getMessages()).toEqual(await a.getMessages());
    const own = await requestsIn(fork);
    const again = without(own, asked);
    expect(without(asked, own)).toEqual([]);
    expect(again.filter((request) => !request.includes('"kind":"approval"'))).toEqual([]);
    // A line that asks again waits.
    if (again.length === 0) expect(await branchesOf(fork)).toEqual(await branchesOf(a));
  }
}

/** What is left of a list when each of the others is taken out once. */
function without(list: readonly string[], others: readonly string[]): readonly string[] {
  const left = [...others];
  return list.filter((each) => {
    const at = left.indexOf(each);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

/** Random lives of an agent, and of its forks. @param at where it is forked, of its checkpoints. */
export async function checkForks(lines: RandomLines, at: number, opened: Storages): Promise<void> {
  const wanted = await wantedOf(lines);
  const begun = new LinesWorld(lines);
  begun.folder = temporaryFolder();
  const life = { lines, opened, world: await livePartly(lines, crashing(opened), begun) };
  const before = await readPaced(opened().log, "a");
  if (before.length === 0) return;
  const files = filesIn(begun);
  const a = agentIn(life, "a");
  const fork = await a.fork("b");
  const again = await fork.fork("c");
  const shown = await shownIn(a);
  expect((await shownIn(fork)).slice(0, shown.length)).toEqual(shown);
  expect(await readPaced(opened().log, "a")).toEqual(before);
  expect((await readPaced(opened().log, "b")).slice(0, before.length)).toEqual(before);
  const isGoingBack = await isGoingBackIn(opened);
  if (!isGoingBack) await checkMoment(a, [fork, again]);
  for (const id of ["a", "b", "c"]) await checkArchive(opened, id);
  const worlds = { b: await worldOf(life, "b"), c: await worldOf(life, "c") };
  const beforeC = await worldOf(life, "c");
  const checkpoints = await a.getCheckpoints();
  const point = checkpoints[at % Math.max(1, checkpoints.length)];
  if (point) {
    const early = await a.fork("d", { checkpointId: point.checkpointId });
    const upTo = (await shownIn(early)).filter((each) => (each as AgentCheckpointData).version <= point.version);
    expect(upTo).toEqual(shown.slice(0, upTo.length));
    expect(await endOf(life, "d", await worldOf(life, "d"))).toEqual(wanted.left);
  }
  await goPartly(worlds.b, crashing(opened), "b", at);
  await fork.fork("e");
  const others = { ...worlds, e: await worldOf({ ...life, world: worlds.b }, "e") };
  for (const [id, world] of Object.entries(others)) {
    expect(await endOf(life, id, world)).toEqual(wanted.left);
    if (isGoingBack) continue;
    expect(world.items).toEqual(wanted.world.items);
    expect(filesIn(world)).toEqual(filesIn(wanted.world));
  }
  await checkArchive(opened, "e");
  if (!isGoingBack) await checkTakenBack(life, "c", beforeC, worlds.c);
  const forked = await readPaced(opened().log, "b");
  expect(await readPaced(opened().log, "a")).toEqual(before);
  expect(filesIn(begun)).toEqual(files);
  await goOn(life.world, crashing(opened), "a");
  const latest = await a.getLatestCheckpoint();
  expect(latest && leftBy(latest)).toEqual(wanted.left);
  expect(life.world.items).toEqual(wanted.world.items);
  expect(filesIn(life.world)).toEqual(filesIn(wanted.world));
  expect(life.world.problems).toEqual([]);
  expect(await readPaced(opened().log, "b")).toEqual(forked);
}
