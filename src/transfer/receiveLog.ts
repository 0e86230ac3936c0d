import type { Entry } from "../checkpoint/records/Entry.ts";
import { isShapeRecord, type ShapeRecord } from "../checkpoint/format/ShapeRecord.ts";
import { systemClock } from "../internal/Clock.ts";
import type { Sha256 } from "../internal/sha256/Sha256.ts";
import { inboxShape, newsStatus } from "../journal/inbox/inboxShape.ts";
import { shapeSummary } from "../journal/shape/ShapeDefinition.ts";
import { decodeEntry } from "../checkpoint/format/entryCodec.ts";
import { InvalidArchiveError } from "../errors/storedDataErrors.ts";
import { includesText } from "../internal/bytes.ts";
import { processOwner } from "../storage/ReleasableLog.ts";
import type { AgentSummary, LogAppend } from "../storage/RecordLog.ts";
import { ArchiveReader } from "./ArchiveReader.ts";
import type { TransferStorage } from "./logOf.ts";
import { readingKeys } from "./format/encryptedArchive.ts";
import { type ImportOptions, refusalOf } from "./importAgent.ts";
import { receivedLines } from "./transferredBlobs.ts";

const summaryMark = new TextEncoder().encode('"summary":{');

const receivedShapes = ["thread", "session", "inbox"];

export type ReceiveLogOptions = Pick<ImportOptions, "maxPartBytes" | "keys">;

/**
 * Stores the log of a thread, a session or an inbox from an archive of `exportLog`. An append without records follows
 * it, which belongs to the new owner.
 *
 * @throws InvalidArchiveError, AlreadyExistsError (`agent_exists`), AgentBusyError
 * @throws KeyMissingError, AuthenticationFailedError
 */
export async function receiveLog(
  target: TransferStorage<"receive">,
  stream: AsyncIterable<Uint8Array>,
  options: ReceiveLogOptions,
): Promise<void> {
  const bytes = stream[Symbol.asyncIterator]();
  try {
    await receiveFrom(target, bytes, options);
  } finally {
    await bytes.return?.();
  }
}

async function receiveFrom(
  target: TransferStorage<"receive">,
  bytes: AsyncIterator<Uint8Array>,
  { maxPartBytes, keys }: ReceiveLogOptions,
): Promise<void> {
  const sha256 = await target.sha256();
  const { header, reader } = await ArchiveReader.open(bytes, sha256, {
    maxPartBytes,
    keys: readingKeys(target, keys),
  });
  const { agentId, generation, position, shape = "agent" } = header;
  if (!receivedShapes.includes(shape) || !agentId.startsWith(`${shape}:`))
    throw new InvalidArchiveError("it contains no thread, session or inbox");
  const summary = new StoredSummary(agentId, shape, sha256);
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

/** Finds the latest summary in the lines of a log. The lines of a memory storage have no summaries. */
class StoredSummary {
  readonly #logId: string;
  readonly #shape: string;
  readonly #sha256: Sha256;
  #isBegun = false;
  #made: AgentSummary | undefined;
  #found: AgentSummary | undefined;

  constructor(logId: string, shape: string, sha256: Sha256) {
    this.#logId = logId;
    this.#shape = shape;
    this.#sha256 = sha256;
  }

  addLine(line: Uint8Array): void {
    if (this.#isBegun && !includesText(line, summaryMark)) return;
    const decoded = decodeEntry(line, this.#sha256);
    if (!decoded.ok) return;
    if (!this.#isBegun) this.#made = this.#makeFrom(decoded.entry);
    this.#isBegun = true;
    this.#found = (decoded.summary as AgentSummary | undefined) ?? this.#found;
  }

  /**
   * An inbox counts as changed, so that a worker looks at it.
   *
   * @throws InvalidArchiveError if the log does not begin with its shape.
   */
  latest(): AgentSummary {
    if (!this.#made) throw new InvalidArchiveError("its log does not begin with its shape");
    const summary = this.#found ?? this.#made;
    return this.#shape === inboxShape.name ? { ...summary, status: newsStatus } : summary;
  }

  #makeFrom({ records }: Entry): AgentSummary | undefined {
    const name = this.#shape;
    const found = records.find((record) => isShapeRecord(record) && record.shape === name) as ShapeRecord | undefined;
    return found && shapeSummary({ name }, this.#logId.slice(name.length + 1), found.at, systemClock.now());
  }
}
