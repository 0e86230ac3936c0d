import { AgentPersistenceError } from "../errors/AgentPersistenceError.ts";
import { CorruptLogError } from "../errors/storage/CorruptLogError.ts";
import { InvalidArchiveError } from "../errors/storage/InvalidArchiveError.ts";
import { systemClock } from "../internal/Clock.ts";
import { assertAgentId } from "../internal/options/assertAgentId.ts";
import { Pace } from "../internal/Pace.ts";
import { agentSummary } from "../journal/agentSummary.ts";
import { parseBlobReference } from "../storage/blobReference.ts";
import type { PersistenceStorageProvider } from "../storage/PersistenceStorageProvider.ts";
import { processOwner } from "../storage/processOwner.ts";
import type { LogAppend } from "../storage/RecordLog.ts";
import { ArchiveReader } from "./ArchiveReader.ts";
import type { ArchiveHeader, ArchivePart } from "./archiveFormat.ts";
import { ImportedLog } from "./ImportedLog.ts";
import { logOf, type TransferStorage } from "./logOf.ts";
import { type MoveReceipt, receiptOf } from "./MoveReceipt.ts";

/** What was imported. */
export interface ImportReport {
  readonly agentId: string;
  /** How many checkpoints the agent has. */
  readonly checkpoints: number;
  /** For `finishMove`, where the agent was exported with `move`. */
  readonly receipt: MoveReceipt;
}

/**
 * Makes an agent of an archive that `exportAgent` gave, under the same id. It needs none of the agent's code, and reads the
 * archive while it comes. All of it is checked before anything counts: until then there is no such agent here.
 *
 * An agent that was exported with `move` can run here at once. Any other is a copy: it runs only once `takeOver: true` is
 * given to `run` or `resume`, since two agents of one id would act.
 *
 * @param stream the archive, in pieces of any size.
 * @throws InvalidArchiveError, AlreadyExistsError (`agent_exists`), AgentBusyError, NotSupportedError for a storage whose log
 * takes no lines; what the stream throws. Nothing was imported then.
 */
export async function importAgent(
  storage: PersistenceStorageProvider,
  stream: AsyncIterable<Uint8Array>,
): Promise<ImportReport> {
  const target = logOf(storage, "receive", "importAgent()");
  const bytes = stream[Symbol.asyncIterator]();
  try {
    return await importFrom(target, bytes);
  } finally {
    await bytes.return?.();
  }
}

async function importFrom(target: TransferStorage<"receive">, bytes: AsyncIterator<Uint8Array>): Promise<ImportReport> {
  const sha256 = await target.sha256();
  const { header, reader } = await ArchiveReader.open(bytes, sha256);
  assertIdOf(header);
  const { agentId, generation } = header;
  const imported = new ImportedLog(sha256);
  let checkpoints = 0;
  const last = (end: { readonly generation: number; readonly position: number }): LogAppend => {
    const { append, count } = lastAppend(imported, header, end);
    checkpoints = count;
    return append;
  };
  const lines = linesIn(reader.parts(), target, agentId, imported);
  try {
    const owned = await target.log.receive(agentId, processOwner(), { lines, generation }, last);
    await owned.release();
  } catch (error) {
    if (!(error instanceof CorruptLogError) || error.file !== "received lines") throw error;
    throw new InvalidArchiveError(error.found, { cause: error });
  }
  const { folder } = target.log.capabilities;
  return { agentId, checkpoints, receipt: receiptOf(header, { agentId, folder }, sha256) };
}

/** Blobs are stored before the line that names them. */
async function* linesIn(
  parts: AsyncIterable<ArchivePart>,
  { log }: TransferStorage<"receive">,
  agentId: string,
  imported: ImportedLog,
): AsyncGenerator<Uint8Array, void, undefined> {
  const pace = new Pace();
  for await (const part of parts) {
    await pace.after(part.bytes.length);
    if (part.kind === "line") {
      imported.addLine(part.bytes);
      yield part.bytes;
      continue;
    }
    const { generation = 1, encoding } = parseBlobReference(part.reference) ?? {};
    imported.addBlob(part.reference);
    if ((await log.blobs.put(agentId, generation, part.bytes, encoding)) !== part.reference)
      throw new InvalidArchiveError(`the blob ${part.reference} has another content`);
  }
}

function lastAppend(
  imported: ImportedLog,
  { agentId, move, position: stated }: ArchiveHeader,
  { generation, position }: { readonly generation: number; readonly position: number },
): { readonly append: LogAppend; readonly count: number } {
  const { status, checkpoints } = imported.end();
  if (position !== stated) throw new InvalidArchiveError(`its lines end at position ${position}, and not at ${stated}`);
  const at = systemClock.now();
  const custody =
    move === undefined
      ? ({ kind: "custody", state: "copied", at } as const)
      : ({ kind: "custody", state: "here", at, move } as const);
  const summary = agentSummary(agentId, { ...status, custody });
  return {
    append: { id: `${generation}-1`, records: [custody], ...(summary && { summary }) },
    count: checkpoints,
  };
}

function assertIdOf({ agentId }: ArchiveHeader): void {
  try {
    assertAgentId(agentId);
  } catch (cause) {
    if (!AgentPersistenceError.isInstance(cause)) throw cause;
    throw new InvalidArchiveError("it has no valid agent id", { cause });
  }
}
