import type { CheckpointNames } from "../../checkpoint/lines/CheckpointNames.ts";
import { linesAt } from "../../checkpoint/moment/linesAt.ts";
import type { CheckpointPoint } from "../../checkpoint/records/lineRecords.ts";
import { reachesLine } from "../../checkpoint/state/foldTo.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { AlreadyExistsError, NotSupportedError } from "../../errors/storageErrors.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import { CheckpointNotFoundError } from "../../errors/checkpointErrors.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import { type CopiedLog, isAsRead, keptAppends } from "../../transfer/keptAppends.ts";
import { forkAppend, recordsOfFork } from "../../transfer/forkAppend.ts";
import { processOwner } from "../../storage/ReleasableLog.ts";
import { readEntries, withLastCheckpoint } from "../../storage/readEntries.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { findCheckpoint } from "../../journal/findCheckpoint.ts";
import { forEachAtOnce } from "../../internal/together.ts";
import { type BlobStore, blobsAtOnce } from "../../storage/BlobStore.ts";
import { parseBlobReference } from "../../storage/blobs.ts";
import { blobsNamedIn } from "../../transfer/transferredBlobs.ts";

const mostAttempts = 5;

export async function forkAgent(
  setup: PersistenceSetup,
  agentId: string,
  forkId: string,
  checkpointId: string | undefined,
): Promise<void> {
  if (!setup.log.encodedAppends || !setup.log.receive)
    throw new NotSupportedError("fork()", "`encodedAppends` and `receive` of a log");
  if (forkId === agentId) throw new AlreadyExistsError("agent_exists", forkId);
  for (let attempt = 1; ; attempt++) {
    const log = await readLines(setup, agentId);
    const source = await readSource(log, agentId, checkpointId);
    try {
      return await copy(setup, log, source, forkId);
    } catch (error) {
      if (attempt === mostAttempts || (await isAsRead(setup.log, agentId, source.end).catch(() => true))) throw error;
    }
  }
}

async function readLines({ log, storage }: PersistenceSetup, agentId: string): Promise<CopiedLog> {
  try {
    return await keptAppends(log as CopiedLog & RecordLog, agentId, await storage.sha256());
  } catch (error) {
    throw await withLastCheckpoint(error, log, agentId);
  }
}

interface Source {
  readonly agentId: string;
  readonly index: LogProjection;
  readonly target: CheckpointPoint | undefined;
  readonly names?: CheckpointNames;
  readonly end: { readonly position: number; readonly checksum: string };
  readonly generation: number;
}

async function readSource(log: CopiedLog, agentId: string, checkpointId: string | undefined): Promise<Source> {
  if (checkpointId === undefined) return readHeadOf(log, agentId);
  const whole = await readUpTo(log, agentId);
  const point = findCheckpoint(new AgentLog(agentId, whole.index, new Map()), checkpointId);
  // Only the newest pruning record contains the data from before the pruning.
  const upTo = Math.max(point.position, whole.index.prunedAt);
  const source = upTo === whole.end.position ? whole : await readUpTo(log, agentId, { upTo });
  const target = source.index.checkpoints.get(point.version);
  if (!target) throw new CheckpointNotFoundError(agentId, checkpointId, []);
  return { ...source, target, names: whole.index.names };
}

/** Reads the log from its newest snapshot, or the whole log if the head needs earlier records. */
async function readHeadOf(log: CopiedLog, agentId: string): Promise<Source> {
  const source = await readUpTo(log, agentId, { sinceSnapshot: true });
  const { index } = source;
  const isWhole = linesAt(index).lines.every(({ lane, upTo }) => reachesLine(index, lane, upTo));
  return isWhole && index.merged.length === 0 ? source : readUpTo(log, agentId);
}

async function readUpTo(
  log: CopiedLog,
  agentId: string,
  options: { readonly upTo?: number; readonly sinceSnapshot?: boolean } = {},
): Promise<Source> {
  const { index, end, generation } = await readEntries(log, agentId, options);
  if (!end || generation === undefined) throw new CheckpointNotFoundError(agentId, undefined, []);
  const { position, checksum } = end;
  return { agentId, index, target: undefined, end: { position, checksum }, generation };
}

async function copy(setup: PersistenceSetup, copied: CopiedLog, source: Source, forkId: string): Promise<void> {
  const { log, clock } = setup;
  const { agentId, end, generation } = source;
  const sha256 = await setup.storage.sha256();
  const records = await recordsOfFork(source, { forkId, at: clock.now(), sha256, log, blobsOf: agentId });
  const onMissing = async (missing: string) => {
    if (!(await isAsRead(log, agentId, end))) throw new UnreadableValueError(`its blob ${missing} is missing`);
  };
  const blobs = { blobs: log.blobs, from: agentId, to: forkId };
  const appends = withBlobs(copied.encodedAppends(agentId, { upTo: end.position }), blobs, onMissing);
  const received = { appends, generation };
  const owned = await log.receive?.(forkId, processOwner(), received, (at) => forkAppend(records, source, forkId, at));
  await owned?.release();
}

interface BlobCopy {
  readonly blobs: BlobStore;
  readonly from: string;
  readonly to: string;
}

/**
 * Yields the lines, and copies every blob that they name to the other agent. All copies are complete before the end,
 * because the fork is visible only afterwards. Skips missing blobs and texts that only look like references.
 *
 * @param onMissing Called after the last line with one of the missing blobs. It can throw.
 */
async function* withBlobs(
  lines: AsyncIterable<Uint8Array>,
  copy: BlobCopy,
  onMissing: (reference: string) => Promise<void>,
): AsyncGenerator<Uint8Array> {
  const known = new Set<string>();
  const waiting: string[] = [];
  const missing: string[] = [];
  const copyWaiting = () =>
    forEachAtOnce(waiting.splice(0), blobsAtOnce, async (reference) => {
      if (!(await copyBlob(reference, copy))) missing.push(reference);
    });
  for await (const line of lines) {
    for (const reference of blobsNamedIn(line)) {
      if (known.has(reference)) continue;
      known.add(reference);
      waiting.push(reference);
    }
    if (waiting.length >= blobsAtOnce) await copyWaiting();
    yield line;
  }
  await copyWaiting();
  if (missing[0] !== undefined) await onMissing(missing[0]);
}

/** Stores a blob with the generation of its original, so that its reference stays the same. */
async function copyBlob(reference: string, { blobs, from, to }: BlobCopy): Promise<boolean> {
  if (blobs.copy) return blobs.copy(from, reference, to);
  const bytes = await blobs.get(from, reference);
  if (!bytes) return false;
  const { generation = 1, encoding } = parseBlobReference(reference) ?? {};
  await blobs.put(to, generation, bytes, encoding);
  return true;
}
