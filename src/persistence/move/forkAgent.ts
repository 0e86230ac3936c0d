import { forkRecords } from "../../checkpoint/moment/forkRecords.ts";
import { momentAt } from "../../checkpoint/moment/momentAt.ts";
import { leanRecords } from "../../checkpoint/format/leanRecords.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { AgentState } from "../../checkpoint/state/AgentState.ts";
import type { CheckpointPoint } from "../../checkpoint/state/CheckpointPoint.ts";
import { foldUpTo } from "../../checkpoint/state/foldTo.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { stateReferences } from "../../checkpoint/state/stateReferences.ts";
import { statusAfter } from "../../checkpoint/state/StatusState.ts";
import { AlreadyExistsError } from "../../errors/storage/AlreadyExistsError.ts";
import { CorruptLogError } from "../../errors/storage/CorruptLogError.ts";
import { NotSupportedError } from "../../errors/storage/NotSupportedError.ts";
import { UnreadableValueError } from "../../errors/storage/UnreadableValueError.ts";
import { CheckpointNotFoundError } from "../../errors/checkpoint/CheckpointNotFoundError.ts";
import { randomId } from "../../internal/randomId.ts";
import { agentSummary } from "../../journal/agentSummary.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import { withBlobs } from "./copyBlobs.ts";
import { processOwner } from "../../storage/processOwner.ts";
import { readEntries } from "../../storage/readEntries.ts";
import type { LogAppend, RecordLog } from "../../storage/RecordLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { findCheckpoint } from "./findCheckpoint.ts";

/** How often a fork begins anew because its agent was pruned meanwhile. */
const mostAttempts = 5;

/** Makes an agent of another one's log, up to a moment: see `DurableAgent.fork`. */
export async function forkAgent(
  setup: PersistenceSetup,
  agentId: string,
  forkId: string,
  checkpointId: string | undefined,
): Promise<void> {
  if (!setup.log.lines || !setup.log.receive) throw new NotSupportedError("fork()", "`lines` and `receive` of a log");
  if (forkId === agentId) throw new AlreadyExistsError("agent_exists", forkId);
  for (let attempt = 1; ; attempt++) {
    const source = await readSource(setup.log, agentId, checkpointId);
    try {
      return await copy(setup, source, forkId);
    } catch (error) {
      // What is pruned while it is copied is missing from what was read.
      const isPruned =
        error instanceof CorruptLogError && (await prunedAt(setup.log, agentId)) !== source.index.prunedAt;
      if (!isPruned || attempt === mostAttempts) throw error;
    }
  }
}

/** A durable prefix of a log. */
interface Source {
  readonly agentId: string;
  readonly index: LogProjection;
  readonly target: CheckpointPoint | undefined;
  readonly end: { readonly position: number; readonly checksum: string };
  readonly generation: number;
}

/** @throws CheckpointNotFoundError, UnreadableValueError */
async function readSource(log: RecordLog, agentId: string, checkpointId: string | undefined): Promise<Source> {
  if (checkpointId === undefined) return readHeadOf(log, agentId);
  const whole = await readUpTo(log, agentId);
  const point = findCheckpoint(new AgentLog(agentId, whole.index, new Map()), checkpointId);
  // What comes before a pruning is restated there, and nowhere else.
  const upTo = Math.max(point.position, whole.index.prunedAt);
  const source = upTo === whole.end.position ? whole : await readUpTo(log, agentId, { upTo });
  const target = source.index.checkpoints.get(point.version);
  if (!target) throw new CheckpointNotFoundError(agentId, checkpointId, []);
  return { ...source, target };
}

/** From the newest snapshot, if that has all that leads to the head. */
async function readHeadOf(log: RecordLog, agentId: string): Promise<Source> {
  const source = await readUpTo(log, agentId, { sinceSnapshot: true });
  const { index } = source;
  const isWhole = momentAt(index).lines.every(({ lane, point, upTo }) => foldUpTo(index, lane, point, upTo));
  return isWhole && index.merged.length === 0 ? source : readUpTo(log, agentId);
}

async function readUpTo(
  log: RecordLog,
  agentId: string,
  options: { readonly upTo?: number; readonly sinceSnapshot?: boolean } = {},
): Promise<Source> {
  const { index, end, generation } = await readEntries(log, agentId, options);
  if (!end || generation === undefined) throw new CheckpointNotFoundError(agentId, undefined, []);
  const { position, checksum } = end;
  return { agentId, index, target: undefined, end: { position, checksum }, generation };
}

async function prunedAt(log: RecordLog, agentId: string): Promise<number> {
  return (await readEntries(log, agentId, {})).index.prunedAt;
}

async function copy(setup: PersistenceSetup, source: Source, forkId: string): Promise<void> {
  const { log } = setup;
  const { agentId, index, end, generation } = source;
  const records = await recordsOf(setup, source, forkId);
  const stored = log.lines?.(agentId, { upTo: end.position }) ?? [];
  const lines = withBlobs(stored as AsyncIterable<Uint8Array>, { blobs: log.blobs, from: agentId, to: forkId });
  const owned = await log.receive?.(forkId, processOwner(), { lines, generation }, (at) => {
    const status = records.reduce((state, record) => statusAfter(state, record, at.generation), index.statusState);
    const summary = agentSummary(forkId, status);
    const append: LogAppend = { id: `${at.generation}-${at.position + 1}`, records: leanRecords(records) };
    return summary ? { ...append, summary } : append;
  });
  await owned?.release();
}

async function recordsOf(setup: PersistenceSetup, source: Source, forkId: string): Promise<readonly AgentRecord[]> {
  const { index, target, agentId, end } = source;
  const values = await valuesOf(setup.log, source);
  return forkRecords(index, target, {
    agentId: forkId,
    from: agentId,
    end,
    nextLane: index.nextLane + randomNumber(),
    newRunId: randomId(),
    at: setup.clock.now(),
    usage: index.run && index.usageOf(index.run.run),
    sha256: await setup.storage.sha256(),
    reader: (state) => values.reader(state),
  });
}

/** 40 bits: an earlier fork of the same id, which was deleted, surely began with other lanes. */
function randomNumber(): number {
  return Number.parseInt(randomId().replaceAll("-", "").slice(0, 10), 16);
}

/** With the values that are read to find out where calls were made: those of lines that wait within a call. */
async function valuesOf(log: RecordLog, { agentId, index, target }: Source): Promise<AgentLog> {
  const { lines } = momentAt(index, target);
  const states = lines.map(({ lane, point, upTo }) => {
    const state = foldUpTo(index, lane, point, upTo);
    if (!state) throw new UnreadableValueError(`what leads to lane ${lane} is not in the log`);
    return state;
  });
  const isNested = lines.some(({ lane }) => "call" in (index.lanes.get(lane)?.record.place ?? {}));
  if (!isNested && !states.some(hasCallsWithin)) return new AgentLog(agentId, index, new Map());
  return AgentLog.ofIndex(log, agentId, index, new Map(states.flatMap((state) => [...stateReferences(state)])));
}

function hasCallsWithin({ answers, calls, requests }: AgentState): boolean {
  const asked = [...requests.values()].map(({ record }) => record);
  const made = [...calls.values()].flatMap(({ intent, outcome }) => intent ?? outcome ?? []);
  return (
    asked.some(({ approval }) => approval !== undefined) ||
    [...answers.values(), ...made, ...asked].some(({ within }) => within !== undefined)
  );
}
