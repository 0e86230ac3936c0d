import { findPoint } from "../checkpoint/moment/linesAt.ts";
import { z } from "zod";
import { formatVersion } from "../checkpoint/records/Entry.ts";
import type { CustodyRecord } from "../checkpoint/records/runRecords.ts";
import type { ChainLink } from "../checkpoint/format/EntryChain.ts";
import { linkOf } from "../checkpoint/format/entryCodec.ts";
import { AgentMovedError, InvalidInputError } from "../errors/agentErrors.ts";
import { inLargeParts } from "../internal/bytes.ts";
import { systemClock } from "../internal/Clock.ts";
import { assertAgentId } from "../internal/options/assertAgentId.ts";
import { NotSupportedError } from "../errors/storageErrors.ts";
import { UnreadableValueError } from "../errors/storedDataErrors.ts";
import { CheckpointNotFoundError } from "../errors/checkpointErrors.ts";
import { abortSignalSchema, nonEmptyString } from "../internal/options/optionSchemas.ts";
import { assertOfAgent, readEntries } from "../storage/readEntries.ts";
import { checkSchema, strictOptions } from "../internal/options/checkSchema.ts";
import type { Sha256 } from "../internal/sha256/Sha256.ts";
import { withoutUndefined } from "../internal/withoutUndefined.ts";
import { Journal } from "../journal/Journal.ts";
import type { PersistenceStorageProvider, LogStorage } from "../storage/PersistenceStorageProvider.ts";
import type { RecordLog } from "../storage/RecordLog.ts";
import { ArchiveHash, type ArchiveHeader, type ArchivePart, encodePart, textOfFacts } from "./format/archiveFormat.ts";
import { BlobsOfLines } from "./transferredBlobs.ts";
import { gzipped } from "./gzipStream.ts";
import {
  type CopiedLog,
  isAsRead,
  keptAppends,
  type KeptLog,
  linesInBatches,
  type LogSurvey,
  SurveyedLines,
  surveyLog,
} from "./keptAppends.ts";
import { exportedStorage, type TransferStorage } from "./logOf.ts";
import { writingKeys, writingKeysSchema, encryptedArchive } from "./format/encryptedArchive.ts";
import type { KeySource } from "../storage/KeySource.ts";
import { quoted } from "../errors/AgentPersistenceError.ts";
import { isShapeRecord } from "../checkpoint/format/ShapeRecord.ts";

/** Options of `exportAgent`. */
export interface ExportOptions {
  /**
   * Moves the agent. Before the first byte, the agent is durably `moving` and cannot run here until {@link finishMove}
   * or `cancelMove`. The export owns the agent until it ends. A later export returns the same data. Defaults to
   * `false`, a copy that is possible while the agent runs.
   */
  readonly move?: boolean | undefined;
  /**
   * The id or name of the checkpoint at which a fork or a copy starts. Later data is exported only if a pruning has
   * written it again. Cannot be combined with `move`. Defaults to the head.
   */
  readonly fromCheckpoint?: string | undefined;
  /** Compresses the archive with gzip, which `importAgent` detects. Defaults to `false`. */
  readonly gzip?: boolean | undefined;
  /**
   * Encrypts the archive with a separate data key, which the current key encrypts. Ids, the position and the size stay
   * readable. `false` for a plain archive. Defaults to the keys of an encrypted storage, and to `false` otherwise.
   */
  readonly keys?: KeySource | false | undefined;
  /**
   * Ends the export with the signal's reason when aborted. An aborted export cancels a move that it started, so discard
   * the bytes of the export.
   */
  readonly signal?: AbortSignal | undefined;
}

const encoder = new TextEncoder();
/** Smaller parts are combined until they have this number of bytes. */
const yieldedBytes = 256 * 1024;

const optionsSchema = strictOptions(() => ({
  move: z.boolean().optional(),
  fromCheckpoint: nonEmptyString.optional(),
  gzip: z.boolean().optional(),
  keys: writingKeysSchema.optional(),
  signal: abortSignalSchema.optional(),
})).refine(({ move, fromCheckpoint }) => move !== true || fromCheckpoint === undefined, {
  path: ["fromCheckpoint"],
  error: "expected no checkpoint with move: true, because a move exports the whole agent",
});

/**
 * Exports an agent as a stream of bytes for `importAgent`: its stored log and its blobs. Data is read on demand. The
 * code of the agent is not needed. If the export that starts a move fails or is ended before its last bytes, it cancels
 * the move.
 *
 * @example
 * ```ts
 * const archive = exportAgent(source, "order-7", { move: true, gzip: true });
 * const { receipt } = await importAgent(target, archive);
 * await finishMove(source, "order-7", receipt);
 * ```
 * @throws InvalidInputError if the agent has no records.
 * @throws AgentMovedError if the agent was moved, or is moving and is exported without `move`.
 * @throws AgentBusyError if the agent runs and `move` is set.
 * @throws NotSupportedError if the log of the storage cannot return its lines, or the storage is redacted.
 * @throws CheckpointNotFoundError, CorruptLogError, CorruptBlobError
 * @throws KeyMissingError if the key source does not have its current key.
 * @throws UnreadableValueError if a blob is missing, or if the agent is deleted or pruned during the export.
 */
export async function* exportAgent(
  storage: PersistenceStorageProvider,
  agentId: string,
  options: ExportOptions = {},
): AsyncGenerator<Uint8Array, void, undefined> {
  assertAgentId(agentId);
  checkSchema(optionsSchema, options, "options of exportAgent()");
  const source = exportedStorage(storage, "exportAgent()");
  const { signal } = options;
  signal?.throwIfAborted();
  await using move = options.move ? await OpenMove.begin(source, agentId, signal) : undefined;
  const sha256 = await source.sha256();
  const lines = new SurveyedLines(sha256);
  const log = await keptAppends(source.log, agentId, sha256, lines);
  const { fromCheckpoint } = options;
  const start = fromCheckpoint === undefined ? undefined : await prefixTo(log, agentId, fromCheckpoint);
  const survey = start ? await surveyLog(log, agentId, { sha256, upTo: start.upTo }) : lines.result;
  assertOfAgent(agentId, { records: survey.firstRecords });
  if (move === undefined) assertHere(agentId, survey);
  const header = withoutUndefined({
    ...factsOf(agentId, survey),
    checkpoint: start?.version,
    move: move?.id,
  }) as ArchiveHeader;
  const onEnd = () => {
    signal?.throwIfAborted();
    move?.keep();
  };
  const parts = inLargeParts(archiveOf({ source: source.log, log, sha256, onEnd }, header, survey), yieldedBytes);
  const bytes = options.gzip ? gzipped(parts) : parts;
  const keys = writingKeys(source, options.keys);
  yield* keys ? encryptedArchive(bytes, header, keys) : bytes;
  signal?.throwIfAborted();
}

/**
 * Exports the stored log of an agent, a thread, a session or an inbox, for a backup. Resolves to `undefined` for an
 * unknown or a moved agent.
 *
 * @param keys - the keys that encrypt the archive. `undefined` for a plain archive.
 * @throws InvalidInputError if the log is encrypted.
 * @throws NotSupportedError if the log has a data key.
 * @throws CorruptLogError, CorruptBlobError
 * @throws UnreadableValueError if a blob is missing, or if the log is deleted or pruned during the export.
 */
export async function exportLog(
  source: TransferStorage<"encodedAppends">,
  logId: string,
  keys: KeySource | undefined,
): Promise<AsyncIterable<Uint8Array> | undefined> {
  const sha256 = await source.sha256();
  const lines = new SurveyedLines(sha256);
  const log = await keptAppends(source.log, logId, sha256, lines);
  const survey = lines.result;
  if (survey.last === undefined || survey.custody?.state === "moved") return undefined;
  assertExported(logId, survey);
  const shape = survey.firstRecords.find(isShapeRecord)?.shape;
  const { checksum } = survey.last;
  const header: ArchiveHeader = { ...factsOf(logId, survey), checksum, ...(shape !== undefined && { shape }) };
  const bytes = inLargeParts(archiveOf({ source: source.log, log, sha256 }, header, survey), yieldedBytes);
  return keys ? encryptedArchive(bytes, header, keys) : bytes;
}

/** Rejects logs of data keys. A data key in an archive would survive `destroyKey`. */
function assertExported(logId: string, { firstRecords }: LogSurvey): void {
  if (firstRecords.some(({ kind }) => kind === "data_key"))
    throw new NotSupportedError(`A backup of the data key ${quoted(logId)}`, "a keyStorage with a backup of its own");
  if (!firstRecords.some(({ kind }) => kind === "encrypted")) return;
  const expected = `expected the storage that encrypted() returned, found the encrypted log ${quoted(logId)}`;
  throw new InvalidInputError("storage of a backup", [{ path: "", expected }]);
}

function factsOf(agentId: string, survey: LogSurvey): Omit<ArchiveHeader, "checksum" | "checkpoint" | "move"> {
  const { position, generation } = lastOf(agentId, survey);
  return { archive: 1, format: formatVersion, library: "agent-persistence", agentId, position, generation };
}

interface ArchivedLog {
  readonly source: CopiedLog & Pick<RecordLog, "blobs">;
  readonly log: KeptLog;
  readonly sha256: Sha256;
  /** Called before the last bytes, without which no import accepts the archive. */
  readonly onEnd?: () => void;
}

async function* archiveOf(
  { source, log, sha256, onEnd }: ArchivedLog,
  header: ArchiveHeader,
  { prunedUpTo, firstRecords }: LogSurvey,
): AsyncGenerator<readonly Uint8Array[], void, undefined> {
  const { agentId, position } = header;
  const hash = new ArchiveHash(sha256);
  const blobs = new BlobsOfLines(source.blobs, agentId, {
    sha256,
    prunedUpTo,
    isOfAgent: !firstRecords.some(isShapeRecord),
  });
  const encoded = (part: ArchivePart): readonly Uint8Array[] => {
    hash.add(part);
    return encodePart(part);
  };
  const head = textOfFacts(header);
  hash.addText(head);
  yield [encoder.encode(head)];
  let lines = 0;
  let [first, last]: readonly (Uint8Array | undefined)[] = [];
  for await (const batch of linesInBatches(log, agentId, position)) {
    yield* encodedLines(batch, blobs, encoded);
    lines += batch.length;
    [first, last] = [first ?? batch[0], batch.at(-1) ?? last];
  }
  const end = last && linkOf(last);
  // A pruning does not change kept lines. Lines that are read after a pruning can be incomplete.
  const isSame = (link: ChainLink) =>
    log.kept ? beginsWith(source, agentId, first && linkOf(first)) : isAsRead(source, agentId, link);
  if (end?.position !== position || !(await isSame(end)))
    throw new UnreadableValueError(
      "the agent was deleted or pruned during the export; if it still exists, export it again",
    );
  onEnd?.();
  yield [encoder.encode(textOfFacts({ lines, blobs: blobs.count, sha256: hash.value }))];
}

/** Yields lines, each after its blobs. */
async function* encodedLines(
  lines: readonly Uint8Array[],
  blobs: BlobsOfLines,
  encoded: (part: ArchivePart) => readonly Uint8Array[],
): AsyncGenerator<readonly Uint8Array[], void, undefined> {
  const pieces: Uint8Array[] = [];
  for (const bytes of lines) {
    for (const reference of blobs.newIn(bytes)) {
      const blob = await blobs.read(reference, bytes);
      if (blob) yield [...pieces.splice(0), ...encoded(blob)];
    }
    pieces.push(...encoded({ kind: "line", bytes }));
  }
  yield pieces;
}

/** Returns whether the log still starts at the same append. */
async function beginsWith(log: CopiedLog, agentId: string, first: ChainLink | undefined): Promise<boolean> {
  for await (const bytes of log.encodedAppends(agentId, { upTo: first?.position ?? 0 }))
    return linkOf(bytes)?.checksum === first?.checksum;
  return false;
}

interface Prefix {
  readonly upTo: number;
  readonly version: number;
}

/**
 * Returns the version of a checkpoint and the last position to export for it. The exported lines include the last
 * pruning record, because only this record contains the kept earlier records.
 *
 * @throws CheckpointNotFoundError
 */
async function prefixTo(log: CopiedLog, agentId: string, checkpointId: string): Promise<Prefix> {
  const { index } = await readEntries(log, agentId, {});
  const point = findPoint(index, checkpointId);
  const ids = [...index.checkpoints.values()].map(({ id }) => id);
  if (!point) throw new CheckpointNotFoundError(agentId, checkpointId, ids);
  return { upTo: Math.max(point.position, index.prunedAt), version: point.version };
}

/** @throws InvalidInputError if the agent has no records. */
export function lastOf(agentId: string, { last }: LogSurvey): NonNullable<LogSurvey["last"]> {
  if (last) return last;
  const expected = `expected the id of an agent in this storage, found the unknown id ${quoted(agentId)}`;
  throw new InvalidInputError("exportAgent()", [{ path: "agentId", expected }]);
}

function assertHere(agentId: string, { custody }: LogSurvey): void {
  const { state = "here", to } = custody ?? {};
  if (state === "moving" || state === "moved") throw new AgentMovedError(agentId, state, to);
}

/** The move of an export, which owns the agent. Its end cancels a move that it started, unless the move is kept. */
class OpenMove implements AsyncDisposable {
  #isWhole = false;

  private constructor(
    readonly id: string,
    readonly journal: Journal,
    readonly isNew: boolean,
    readonly signal: AbortSignal | undefined,
  ) {}

  /** Starts a move, or continues one. Resolves when the move is durable. */
  static async begin(
    storage: TransferStorage<"encodedAppends">,
    agentId: string,
    signal: AbortSignal | undefined,
  ): Promise<OpenMove> {
    lastOf(agentId, await surveyLog(storage.log, agentId, { sha256: await storage.sha256() }));
    const journal = await openForMove(storage, agentId);
    try {
      const { custody } = journal.statusState;
      if (custody?.state === "moving" && custody.move !== undefined)
        return new OpenMove(custody.move, journal, false, signal);
      const move = new OpenMove(crypto.randomUUID(), journal, true, signal);
      await journal.store([move.#record("moving")]);
      return move;
    } catch (error) {
      await journal[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Keeps the move, because the reader can have the whole archive. */
  keep(): void {
    this.#isWhole = true;
  }

  #record(state: "moving" | "here"): CustodyRecord {
    return { kind: "custody", state, at: this.journal.clock.now(), move: this.id };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const isCancelled = this.isNew && (!this.#isWhole || this.signal?.aborted === true);
    // If this fails, the agent stays `moving`.
    if (isCancelled) await this.journal.store([this.#record("here")]).catch(() => {});
    await this.journal[Symbol.asyncDispose]();
  }
}

/** Acquires an agent that can be in a move. @throws AgentMovedError, AgentCopiedError, AgentBusyError */
export function openForMove(storage: LogStorage, agentId: string): Promise<Journal> {
  const options = { storage, agentId, clock: systemClock, maxCheckpointBytes: Infinity, mustExist: true };
  return Journal.open({ ...options, custody: "move" });
}
