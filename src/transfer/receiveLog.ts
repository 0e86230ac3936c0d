import type { Entry } from "../checkpoint/records/Entry.ts";
import { isShapeRecord } from "../checkpoint/format/ShapeRecord.ts";
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
import { refusalOf } from "./importAgent.ts";
import { receivedLines } from "./receivedLines.ts";

const summaryMark = new TextEncoder().encode('"summary":{');

/**
 * Stores the log of a thread, a session or an inbox from an archive of `exportLog`. An append without records follows
 * it, which belongs to the new owner.
 *
 * @throws InvalidArchiveError, AlreadyExistsError (`agent_exists`), AgentBusyError
 */
export async function receiveLog(target: TransferStorage<"receive">, stream: AsyncIterable<Uint8Array>): Promise<void> {
  const bytes = stream[Symbol.asyncIterator]();
  try {
    await receiveFrom(target, bytes);
  } finally {
    await bytes.return?.();
  }
}

async function receiveFrom(target: TransferStorage<"receive">, bytes: AsyncIterator<Uint8Array>): Promise<void> {
  const sha256 = await target.sha256();
  const { header, reader } = await ArchiveReader.open(bytes, sha256);
  const { agentId, generation } = header;
  const summary = new StoredSummary(agentId, sha256);
  const last = (end: { readonly generation: number; readonly position: number }): LogAppend => ({
    id: `${end.generation}-${end.position + 1}`,
    records: [],
    summary: summary.latest(),
  });
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
  readonly #sha256: Sha256;
  #made: AgentSummary | undefined;
  #found: AgentSummary | undefined;

  constructor(logId: string, sha256: Sha256) {
    this.#logId = logId;
    this.#sha256 = sha256;
  }

  addLine(line: Uint8Array): void {
    if (this.#made && !includesText(line, summaryMark)) return;
    const decoded = decodeEntry(line, this.#sha256);
    if (!decoded.ok) return;
    this.#made ??= this.#makeFrom(decoded.entry);
    this.#found = (decoded.summary as AgentSummary | undefined) ?? this.#found;
  }

  /** @throws InvalidArchiveError if the log does not begin with its shape. */
  latest(): AgentSummary {
    const summary = this.#found ?? this.#made;
    if (!summary) throw new InvalidArchiveError("its log has no shape");
    return summary;
  }

  /** An inbox counts as changed, so that a worker looks at it. */
  #makeFrom({ records }: Entry): AgentSummary | undefined {
    const shape = records.find(isShapeRecord);
    if (!shape) return undefined;
    const name = shape.shape;
    const id = this.#logId.slice(name.length + 1);
    const summary = shapeSummary({ name }, id, shape.at, systemClock.now());
    return name === inboxShape.name ? { ...summary, status: newsStatus } : summary;
  }
}
