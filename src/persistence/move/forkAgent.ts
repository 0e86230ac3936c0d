import type { CheckpointNames } from "../../checkpoint/lines/CheckpointNames.ts";
import { momentAt } from "../../checkpoint/moment/momentAt.ts";
import type { CheckpointPoint } from "../../checkpoint/state/CheckpointPoint.ts";
import { foldUpTo } from "../../checkpoint/state/foldTo.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { AlreadyExistsError } from "../../errors/storage/AlreadyExistsError.ts";
import { CorruptLogError } from "../../errors/storage/CorruptLogError.ts";
import { NotSupportedError } from "../../errors/storage/NotSupportedError.ts";
import { CheckpointNotFoundError } from "../../errors/checkpoint/CheckpointNotFoundError.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import { withBlobs } from "./copyBlobs.ts";
import { forkAppend, recordsOfFork } from "../../transfer/forkAppend.ts";
import { processOwner } from "../../storage/processOwner.ts";
import { readEntries } from "../../storage/readEntries.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
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
      // What is pruned or deleted while it is copied is missing from what was read.
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
  readonly names?: CheckpointNames;
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
  return { ...source, target, names: whole.index.names };
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

/** @throws CheckpointNotFoundError when the agent was deleted */
async function prunedAt(log: RecordLog, agentId: string): Promise<number> {
  return (await readUpTo(log, agentId)).index.prunedAt;
}

async function copy(setup: PersistenceSetup, source: Source, forkId: string): Promise<void> {
  const { log, clock } = setup;
  const { agentId, end, generation } = source;
  const sha256 = await setup.storage.sha256();
  const records = await recordsOfFork(source, { forkId, at: clock.now(), sha256, log, blobsOf: agentId });
  const stored = log.lines?.(agentId, { upTo: end.position }) ?? [];
  const lines = withBlobs(stored as AsyncIterable<Uint8Array>, { blobs: log.blobs, from: agentId, to: forkId });
  const received = { lines, generation };
  const owned = await log.receive?.(forkId, processOwner(), received, (at) => forkAppend(records, source, forkId, at));
  await owned?.release();
}
