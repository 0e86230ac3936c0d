import type { Entry } from "../checkpoint/records/Entry.ts";
import { time } from "../checkpoint/format/fieldTests.ts";
import { isShapeRecord, type ShapeRecord } from "../checkpoint/format/ShapeRecord.ts";
import { systemClock } from "../internal/Clock.ts";
import type { Sha256 } from "../internal/sha256/Sha256.ts";
import { inboxShape, newsStatus } from "../journal/inbox/InboxState.ts";
import { shapeSummary } from "../journal/shape/ShapeDefinition.ts";
import { decodeEntry } from "../checkpoint/format/entryCodec.ts";
import { InvalidArchiveError } from "../errors/storedDataErrors.ts";
import { assertAgentId } from "../internal/options/assertAgentId.ts";
import { includesText } from "../internal/bytes.ts";
import { processOwner } from "../storage/ReleasableLog.ts";
import type { AgentSummary, LogAppend } from "../storage/RecordLog.ts";
import { type ReceivedArchive, withArchive } from "./ArchiveReader.ts";
import type { TransferStorage } from "./logOf.ts";
import { assertIdOf, type ImportOptions, refusalOf } from "./importAgent.ts";
import { receivedLines } from "./transferredBlobs.ts";

const summaryMark = new TextEncoder().encode('"summary":{');

const receivedShapes = ["thread", "session", "inbox"];

type ReceiveLogOptions = Pick<ImportOptions, "maxPartBytes" | "keys">;

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
