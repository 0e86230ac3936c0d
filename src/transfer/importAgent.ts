import { z } from "zod";
import { AgentBusyError, AlreadyExistsError } from "../errors/storageErrors.ts";
import { AgentPersistenceError, quoted } from "../errors/AgentPersistenceError.ts";
import { CorruptLogError, InvalidArchiveError, UnreadableValueError } from "../errors/storedDataErrors.ts";
import { systemClock } from "../internal/Clock.ts";
import { InvalidInputError } from "../errors/agentErrors.ts";
import type { CheckpointPoint } from "../checkpoint/records/lineRecords.ts";
import type { CustodyRecord } from "../checkpoint/records/runRecords.ts";
import { statusAfter } from "../checkpoint/state/StatusState.ts";
import { statusWithoutApprovals, type ImportedEnd, ImportedLog } from "./ImportedLog.ts";
import { checkSchema, strictOptions } from "../internal/options/checkSchema.ts";
import { customSchema, numberFrom } from "../internal/options/optionSchemas.ts";
import { assertNewAgentId, assertAgentId } from "../internal/options/assertAgentId.ts";
import { agentSummary } from "../journal/agentSummary.ts";
import type { PersistenceStorageProvider, LogStorage } from "../storage/PersistenceStorageProvider.ts";
import { processOwner } from "../storage/ReleasableLog.ts";
import { readEntries } from "../storage/readEntries.ts";
import type { LogAppend, AgentSummary } from "../storage/RecordLog.ts";
import { type ReceivedArchive, withArchive } from "./ArchiveReader.ts";
import { type ArchiveHeader, defaultMaxPartBytes } from "./format/archiveFormat.ts";
import { forkAppend, type ForkedLog, recordsOfFork } from "./forkAppend.ts";
import { type KeySource, keySourceSchema } from "../storage/KeySource.ts";
import { logOf, type TransferStorage } from "./logOf.ts";
import { type MoveReceipt, receiptOf } from "./finishMove.ts";
import { receivedLines } from "./transferredBlobs.ts";
import type { Entry } from "../checkpoint/records/Entry.ts";
import { time } from "../checkpoint/format/fieldTests.ts";
import { isShapeRecord, type ShapeRecord } from "../checkpoint/format/ShapeRecord.ts";
import type { Sha256 } from "../internal/sha256/Sha256.ts";
import { inboxShape, newsStatus } from "../journal/inbox/InboxState.ts";
import { shapeSummary } from "../journal/shape/ShapeDefinition.ts";
import { decodeEntry } from "../checkpoint/format/entryCodec.ts";
import { includesText } from "../internal/bytes.ts";

/** The result of `importAgent`. */
export interface ImportReport {
  readonly agentId: string;
  /** The number of checkpoints. */
  readonly checkpoints: number;
  /** If the agent was exported with `move`, pass this receipt to `finishMove`. */
  readonly receipt: MoveReceipt;
}

/** Options of `importAgent`. */
export interface ImportOptions {
  /**
   * The id of the agent. If it differs from the exported id, the import is a fork, which has the history but not the
   * effects and can run at once. Defaults to the exported id.
   */
  readonly agentId?: string | undefined;
  /**
   * Accepts the approvals in the archive. Use this only if the archive comes from a trusted storage over a protected
   * channel. Defaults to `false`: the agent requests all approvals again, because a modified archive can contain forged
   * approvals. A fork, or a copy from a checkpoint, always requests given approvals again.
   */
  readonly trustApprovals?: boolean | undefined;
  /**
   * The maximum size of a line or value of the archive in bytes. An import holds one of them in memory. `Infinity` for
   * no limit. A line can have at most 524,288 values and keys. A limit above 16 MiB allows one value or key for each 32
   * bytes. The lines from the newest snapshot on, without their values, can take 16 MiB of memory. All lines of a fork,
   * with their values, can take 128 MiB. A compressed archive can grow 100 times, and by another 128 MiB. A limit above
   * 16 MiB raises all three in proportion. Defaults to 16 MiB.
   */
  readonly maxPartBytes?: number | undefined;
  /**
   * The keys of an encrypted archive. A plain archive is then refused. Defaults to the keys of an encrypted target,
   * which also accepts plain archives.
   */
  readonly keys?: KeySource | undefined;
}

const streamSchema = customSchema<AsyncIterable<Uint8Array>>(
  "an async iterable of bytes, such as a Readable",
  (value) => typeof (value as AsyncIterable<Uint8Array> | undefined)?.[Symbol.asyncIterator] === "function",
);
const optionsSchema = strictOptions(() => ({
  agentId: z.unknown().optional(),
  trustApprovals: z.boolean().optional(),
  maxPartBytes: numberFrom(1).optional(),
  keys: keySourceSchema.optional(),
}));

/**
 * Imports an agent from an archive of `exportAgent`. The archive is verified while it arrives. The code of the agent is
 * not needed. The agent is visible only after the whole archive was verified. If the call rejects, it imports no data.
 *
 * - An agent that was exported with `move` and keeps its id can run immediately. Repeated imports of a move return the
 *   same receipt.
 * - Any other agent that keeps its id is a copy. It runs only with `takeOver: true` in `run` or `resume`, because
 *   otherwise two agents with one id would act.
 * - An agent with another id is a fork.
 *
 * @param stream The archive in chunks of any size.
 * @throws InvalidArchiveError, AlreadyExistsError (`agent_exists`), AgentBusyError
 * @throws KeyMissingError if the archive is encrypted, and its key is missing.
 * @throws AuthenticationFailedError if an encrypted archive was changed.
 * @throws InvalidInputError for an invalid stream, or if a moved agent gets another id.
 * @throws NotSupportedError if the log of the storage cannot receive lines.
 * @throws Errors of the stream.
 */
export async function importAgent(
  storage: PersistenceStorageProvider,
  stream: AsyncIterable<Uint8Array>,
  options: ImportOptions = {},
): Promise<ImportReport> {
  checkSchema(optionsSchema, options, "options of importAgent()");
  if (options.agentId !== undefined) assertNewAgentId(options.agentId);
  checkSchema(streamSchema, stream, "stream of importAgent()");
  const target = logOf(storage, "receive", "importAgent()");
  return withArchive(target, stream, options, (archive) => importFrom(target, archive, options));
}

async function importFrom(
  target: TransferStorage<"receive">,
  { header, reader, sha256 }: ReceivedArchive,
  { agentId: givenId, trustApprovals = false, maxPartBytes }: ImportOptions,
): Promise<ImportReport> {
  assertIdOf(header, assertNewAgentId);
  if (header.shape !== undefined) throw new InvalidArchiveError("it contains no agent");
  const { generation } = header;
  const agentId = givenId ?? header.agentId;
  const isFork = agentId !== header.agentId;
  if (isFork && header.move !== undefined) throw movedUnderAnotherId(header.agentId);
  const startsEarlier = header.checkpoint !== undefined;
  const imported = new ImportedLog(sha256, { isFork, startsEarlier, mostBytes: mostKeptBytes(maxPartBytes, isFork) });
  let checkpoints = 0;
  const last = async (at: ArchiveEnd): Promise<LogAppend> => {
    const found = await endOf(imported, header, at);
    ({ checkpoints } = found);
    if (!isFork) return custodyAppend(found, header, { ...at, trustApprovals });
    const source = { agentId: header.agentId, ...found };
    const asksAgain = !trustApprovals;
    const place = { forkId: agentId, at: systemClock.now(), sha256, log: target.log, blobsOf: agentId, asksAgain };
    return forkAppend(await recordsOfFork(source, place), source, agentId, at);
  };
  const lines = receivedLines(reader.parts(), target, agentId, imported);
  try {
    const owned = await target.log.receive(agentId, processOwner(), { appends: lines, generation }, last);
    await owned.release();
  } catch (error) {
    const before = isTaken(error) ? await importedBefore(target, header) : undefined;
    if (before === undefined) throw refusalOf(error);
    checkpoints = before;
  }
  const { folder } = target.log.capabilities;
  return { agentId, checkpoints, receipt: receiptOf(header, { agentId, folder }, sha256) };
}

/**
 * Returns how many bytes of memory the lines that an import keeps may take. A fork also keeps the values in these
 * lines.
 */
function mostKeptBytes(maxPartBytes = defaultMaxPartBytes, isFork: boolean): number {
  return (isFork ? 8 : 1) * Math.max(defaultMaxPartBytes, maxPartBytes);
}

function isTaken(error: unknown): boolean {
  return error instanceof AlreadyExistsError || error instanceof AgentBusyError;
}

/** Returns the number of checkpoints if the same move was already imported, otherwise `undefined`. */
async function importedBefore({ log }: LogStorage, { agentId, move }: ArchiveHeader): Promise<number | undefined> {
  if (move === undefined) return undefined;
  let isImported = false;
  const { index } = await readEntries(log, agentId, {}, (record) => {
    isImported ||= record.kind === "custody" && record.state === "here" && record.move === move;
  });
  return isImported ? index.checkpoints.size : undefined;
}

function refusalOf(error: unknown): unknown {
  if (error instanceof CorruptLogError && error.file === "received lines")
    return new InvalidArchiveError(error.found, { cause: error });
  return error instanceof UnreadableValueError ? new InvalidArchiveError(error.message, { cause: error }) : error;
}

interface ArchiveEnd {
  readonly generation: number;
  readonly position: number;
}

async function endOf(
  imported: ImportedLog,
  { position: stated, generation, checkpoint }: ArchiveHeader,
  { position }: ArchiveEnd,
): Promise<ImportedEnd & { readonly target: CheckpointPoint | undefined }> {
  const found = await imported.end();
  if (position !== stated) throw new InvalidArchiveError(`its lines end at position ${position} instead of ${stated}`);
  if (found.end.generation !== generation)
    throw new InvalidArchiveError(`its last line has generation ${found.end.generation} instead of ${generation}`);
  if (checkpoint === undefined) return { ...found, target: undefined };
  const target = found.index.checkpoints.get(checkpoint);
  if (!target) throw new InvalidArchiveError("it lacks the checkpoint that it starts from");
  return { ...found, target };
}

/** @throws InvalidArchiveError for a checkpoint before the end of the copied lines. Only a fork can start there. */
function custodyAppend(
  { index, target }: Pick<ForkedLog, "index" | "target">,
  { agentId, move, checkpoint }: ArchiveHeader,
  { generation, position, trustApprovals }: ArchiveEnd & Required<Pick<ImportOptions, "trustApprovals">>,
): LogAppend {
  if (target && (target.position !== position || target.version !== [...index.checkpoints.keys()].at(-1)))
    throw new InvalidArchiveError(
      "it has records after its checkpoint, so it can only be imported under another agentId",
    );
  const at = systemClock.now();
  // The original agent can already have executed calls that were approved after the checkpoint.
  const asksAgain = !trustApprovals || checkpoint !== undefined;
  const custody: CustodyRecord = {
    kind: "custody",
    ...(move === undefined ? { state: "copied", at } : { state: "here", at, move }),
    ...(asksAgain && { asksAgain }),
  };
  const records = [custody, ...(asksAgain ? statusWithoutApprovals(index, at) : [])];
  const status = records.reduce((state, record) => statusAfter(state, record, generation), index.statusState);
  const summary = agentSummary(agentId, status);
  return { id: `${generation}-${position + 1}`, records, ...(summary && { summary }) };
}

function movedUnderAnotherId(agentId: string): InvalidInputError {
  const expected = `expected ${quoted(agentId)}, the id of the moved agent; export the agent without move to create a fork`;
  return new InvalidInputError("options of importAgent()", [{ path: "agentId", expected }]);
}

function assertIdOf({ agentId }: ArchiveHeader, assertValid: (agentId: string) => void): void {
  try {
    assertValid(agentId);
  } catch (cause) {
    if (!AgentPersistenceError.isInstance(cause)) throw cause;
    throw new InvalidArchiveError("it has no valid agent id", { cause });
  }
}

const summaryMark = new TextEncoder().encode('"summary":{');

const receivedShapes = ["thread", "session", "inbox"];

type ReceiveLogOptions = Pick<ImportOptions, "maxPartBytes" | "keys">;

/**
 * Imports an agent from an archive of `exportLog` as a copy.
 *
 * @throws InvalidArchiveError for the archive of a move, because the agent could run without a takeover.
 * @throws The other errors of `importAgent`.
 */
export async function receiveAgent(
  target: TransferStorage<"receive">,
  stream: AsyncIterable<Uint8Array>,
  options: ReceiveLogOptions,
): Promise<void> {
  await withArchive(target, stream, options, async (archive) => {
    if (archive.header.move !== undefined) throw new InvalidArchiveError("it belongs to a move, and not to a backup");
    await importFrom(target, archive, options);
  });
}

/**
 * Stores the log of a thread, a session or an inbox from an archive of `exportLog`. The new owner adds one append
 * without records.
 *
 * @throws InvalidArchiveError, AlreadyExistsError (`agent_exists`), AgentBusyError
 * @throws KeyMissingError, AuthenticationFailedError
 */
export async function receiveLog(
  target: TransferStorage<"receive">,
  stream: AsyncIterable<Uint8Array>,
  options: ReceiveLogOptions,
): Promise<void> {
  await withArchive(target, stream, options, (archive) => receiveFrom(target, archive));
}

async function receiveFrom(
  target: TransferStorage<"receive">,
  { header, reader, sha256 }: ReceivedArchive,
): Promise<void> {
  const { agentId, generation, position, shape = "agent" } = header;
  if (!receivedShapes.includes(shape) || !agentId.startsWith(`${shape}:`))
    throw new InvalidArchiveError("it contains no thread, session or inbox");
  assertIdOf(header, assertAgentId);
  const summary = storedSummary(agentId, shape, sha256);
  const last = (end: { readonly generation: number; readonly position: number }): LogAppend => {
    if (end.position !== position) throw new InvalidArchiveError("its last line does not have the stated position");
    return { id: `${end.generation}-${end.position + 1}`, records: [], summary: summary.latest() };
  };
  const appends = receivedLines(reader.parts(), target, agentId, {
    addLine: (line) => summary.addLine(line),
    addBlob: () => {},
  });
  try {
    const owned = await target.log.receive(agentId, processOwner(), { appends, generation }, last);
    await owned.release();
  } catch (error) {
    throw refusalOf(error);
  }
}

/**
 * Makes the summary of a log from its creation and the time of its last summary. Other fields of that summary could be
 * forged. The lines of a memory storage have no summaries.
 */
function storedSummary(logId: string, shape: string, sha256: Sha256) {
  let isBegun = false;
  let createdAt: number | undefined;
  let updatedAt: number | undefined;
  return {
    addLine(line: Uint8Array): void {
      if (isBegun && !includesText(line, summaryMark)) return;
      const decoded = decodeEntry(line, sha256);
      if (!decoded.ok) return;
      if (!isBegun) createdAt = creationTime(shape, decoded.entry);
      isBegun = true;
      updatedAt = timeIn(decoded.summary) ?? updatedAt;
    },
    /**
     * Returns the summary of the log. An inbox counts as changed, so that a worker looks at it.
     *
     * @throws InvalidArchiveError without a shape
     */
    latest(): AgentSummary {
      if (createdAt === undefined) throw new InvalidArchiveError("its log does not begin with its shape");
      const id = logId.slice(shape.length + 1);
      const summary = shapeSummary({ name: shape }, id, createdAt, updatedAt ?? systemClock.now());
      return shape === inboxShape.name ? { ...summary, status: newsStatus } : summary;
    },
  };
}

function creationTime(name: string, { records }: Entry): number | undefined {
  const found = records.find((record) => isShapeRecord(record) && record.shape === name) as ShapeRecord | undefined;
  return time(found?.at) ? found?.at : undefined;
}

function timeIn(summary: unknown): number | undefined {
  const found = Date.parse(String((summary as Partial<AgentSummary> | undefined)?.updatedAt));
  return Number.isNaN(found) ? undefined : found;
}
