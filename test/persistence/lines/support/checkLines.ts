import { persistence, type AgentCheckpointData } from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { expect } from "vitest";
import { assertSoundLog, readPaced } from "../../../../src/storage/readEntries.ts";
import { linesAgent } from "./linesAgent.ts";
import { comparable, type LinesWorld } from "./LinesWorld.ts";
import { undisturbed } from "./liveLines.ts";
import type { RandomLines } from "./randomLines.ts";
import { memory, type Opened } from "../../support/storages.ts";
import { recordsOf } from "../../support/stored.ts";

/** What a run leaves, by which two runs of the same are compared. */
function leftBy(world: LinesWorld, { messageHistory, storage, lastInput }: AgentCheckpointData): unknown {
  return { output: lastInput, messages: comparable(messageHistory), storage, items: world.items };
}

/** A run with disturbances ends as one without: in what it leaves, and in what was done to the world. */
export async function checkLines(lines: RandomLines, live: () => Promise<LeftRun>): Promise<void> {
  const opened = await memory.open();
  const wanted = await undisturbed(lines, opened);
  const calm = await persistence(linesAgent(wanted, opened())).agent("a").getLatestCheckpoint();
  const { world, opened: reopened } = await live();
  const outside = persistence(linesAgent(world, reopened())).agent("a");
  const latest = await outside.getLatestCheckpoint();
  expect(world.problems).toEqual([]);
  expect(latest && leftBy(world, latest)).toEqual(calm && leftBy(wanted, calm));
  const { structural, integrity } = await outside.validateCheckpoint();
  expect(Object.values({ ...structural, ...integrity }).filter(({ ok }) => !ok)).toEqual([]);
  await assertSoundLog(await readPaced(reopened().log, "a"));
  const versions = (await outside.getCheckpoints()).map(({ version }) => version);
  expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
  const goesBack = lines.moves > 0 || lines.processes.some(({ backTo }) => backTo !== undefined);
  const asked = await askedIn(reopened());
  expect(world.accepted.filter((id) => !asked.replied.includes(id))).toEqual([]);
  expect(asked.replied).toEqual([...new Set(asked.replied)]);
  if (!goesBack) expect(asked.prompts).toEqual((await askedIn(opened())).prompts);
}

/** What was asked, each time it was asked anew, and the requests that were answered. */
async function askedIn(storage: ReturnType<LeftRun["opened"]>) {
  const prompts = new Map<string, string>();
  const replied: string[] = [];
  for (const record of (await recordsOf(storage)) as readonly AskingRecord[]) {
    if (record.kind === "request") prompts.set(record.request, record.prompt);
    if (record.kind === "reply") replied.push(record.request);
  }
  return { prompts: [...prompts.values()].sort(), replied };
}

interface AskingRecord {
  readonly kind: string;
  readonly request: string;
  readonly prompt: string;
}

interface LeftRun {
  readonly world: LinesWorld;
  readonly opened: Opened<LogPersistenceStorageProvider>;
}
