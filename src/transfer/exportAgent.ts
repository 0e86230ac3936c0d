import { z } from "zod";
import { formatVersion } from "../checkpoint/format/formatVersion.ts";
import type { Entry } from "../checkpoint/records/Entry.ts";
import { AgentMovedError } from "../errors/agent/AgentMovedError.ts";
import { InvalidInputError } from "../errors/agent/InvalidInputError.ts";
import { inLargeParts } from "../internal/bytes.ts";
import { systemClock } from "../internal/Clock.ts";
import { assertAgentId } from "../internal/options/assertAgentId.ts";
import { CheckpointNotFoundError } from "../errors/checkpoint/CheckpointNotFoundError.ts";
import { nonEmptyString } from "../internal/options/optionSchemas.ts";
import { readEntries } from "../storage/readEntries.ts";
import { checkSchema } from "../internal/options/checkSchema.ts";
import { strictOptions } from "../internal/options/strictOptions.ts";
import { randomId } from "../internal/randomId.ts";
import { withoutUndefined } from "../internal/withoutUndefined.ts";
import { Journal } from "../journal/Journal.ts";
import type { LogStorage } from "../storage/LogStorage.ts";
import type { PersistenceStorageProvider } from "../storage/PersistenceStorageProvider.ts";
import type { RecordLog } from "../storage/RecordLog.ts";
import { ArchiveHash, type ArchiveHeader, type ArchivePart, encodePart, textOfFacts } from "./archiveFormat.ts";
import { blobsNamedIn } from "./blobsNamedIn.ts";
import { gzipped } from "./gzipStream.ts";
import { logOf, type TransferStorage } from "./logOf.ts";

/** What to export. */
export interface ExportOptions {
  /**
   * Moves the agent: before the first byte it is durably `moving`, and runs here no more until {@link finishMove} or
   * `cancelMove`. Exporting it again gives the same bytes. Default false: a copy, also while the agent runs.
   */
  readonly move?: boolean | undefined;
  /**
   * The checkpoint, by its id or its name, that a fork or a copy begins at: nothing later is exported than what a pruning
   * has restated. Not together with `move`. Default: the head.
   */
  readonly fromCheckpoint?: string | undefined;
  /** Compresses the archive. `importAgent` finds out by itself. Default false. */
  readonly gzip?: boolean | undefined;
}

const encoder = new TextEncoder();
/** Small parts come together. */
const yieldedBytes = 256 * 1024;

const optionsSchema = strictOptions({
  move: z.boolean().optional(),
  fromCheckpoint: nonEmptyString.optional(),
  gzip: z.boolean().optional(),
}).refine(({ move, fromCheckpoint }) => move !== true || fromCheckpoint === undefined, {
  path: ["fromCheckpoint"],
  error: "a move takes the whole agent, so expected none beside move: true",
});

/**
 * An agent as bytes, for `importAgent`: its log as it is stored, and its blobs. It is read while it is asked for, and needs
 * none of the agent's code.
 *
 * @throws InvalidInputError for an agent that has no records; AgentMovedError for one that was moved, or is moving and is not
 * exported with `move`; AgentBusyError when it is to be moved while it runs; NotSupportedError for a storage whose log cannot
 * give its lines; CheckpointNotFoundError, CorruptLogError, CorruptBlobError.
 */
export async function* exportAgent(
  storage: PersistenceStorageProvider,
  agentId: string,
  options: ExportOptions = {},
): AsyncGenerator<Uint8Array, void, undefined> {
  assertAgentId(agentId);
  checkSchema(optionsSchema, options, "options of exportAgent()");
  const source = logOf(storage, "lines", "exportAgent()");
  const move = options.move ? await beginMove(source, agentId) : undefined;
  const end = options.move ? undefined : await assertHere(source, agentId);
  const { fromCheckpoint } = options;
  const start = fromCheckpoint === undefined ? undefined : await prefixTo(source.log, agentId, fromCheckpoint);
  const parts = inLargeParts(archiveOf(source, agentId, { move, start, end }), yieldedBytes);
  yield* options.gzip ? gzipped(parts) : parts;
}

async function* archiveOf(
  storage: TransferStorage<"lines">,
  agentId: string,
  {
    move,
    start,
    end,
  }: { readonly move?: string | undefined; readonly start?: Prefix | undefined; readonly end?: number | undefined },
): AsyncGenerator<Uint8Array, void, undefined> {
  const { log } = storage;
  const { position, generation } = await lastOf(log, agentId, { upTo: start?.upTo, near: start ? undefined : end });
  const facts = {
    archive: 1,
    format: formatVersion,
    library: "agent-persistence",
    agentId,
    position,
    generation,
  } as const;
  const header = textOfFacts(withoutUndefined({ ...facts, checkpoint: start?.version, move }) as ArchiveHeader);
  const hash = new ArchiveHash(await storage.sha256());
  const sent = new Set<string>();
  let lines = 0;
  const encoded = (part: ArchivePart): Uint8Array => {
    hash.add(part);
    return encodePart(part);
  };
  hash.addText(header);
  yield encoder.encode(header);
  for await (const bytes of log.lines(agentId, { upTo: position })) {
    for (const reference of blobsNamedIn(bytes)) {
      const blob = sent.has(reference) ? undefined : await log.blobs.get(agentId, reference);
      if (!blob) continue;
      sent.add(reference);
      yield encoded({ kind: "blob", reference, bytes: blob });
    }
    lines++;
    yield encoded({ kind: "line", bytes });
  }
  yield encoder.encode(textOfFacts({ lines, blobs: sent.size, sha256: hash.value }));
}

/** A part of a log from its start. */
interface Prefix {
  readonly upTo: number;
  /** Of the checkpoint. */
  readonly version: number;
}

/** What comes before a pruning is restated there, and nowhere else. @throws CheckpointNotFoundError */
async function prefixTo(log: RecordLog, agentId: string, checkpointId: string): Promise<Prefix> {
  const { index } = await readEntries(log, agentId, {});
  const point = index.byId(checkpointId);
  const ids = [...index.checkpoints.values()].map(({ id }) => id);
  if (!point) throw new CheckpointNotFoundError(agentId, checkpointId, ids);
  return { upTo: Math.max(point.position, index.prunedAt), version: point.version };
}

/**
 * The last append that says more than whether the agent may run here.
 *
 * @param options.near a position that it is probably not before.
 * @throws InvalidInputError when there is none.
 */
export async function lastOf(
  log: RecordLog,
  agentId: string,
  {
    upTo = Number.MAX_SAFE_INTEGER,
    near,
  }: { readonly upTo?: number | undefined; readonly near?: number | undefined } = {},
): Promise<Entry> {
  let last: Entry | undefined;
  const options = near === undefined ? { sinceSnapshot: true, upTo } : { after: near - 1, upTo };
  for await (const entry of log.read(agentId, options)) if (entry.records.some(isAboutMore)) last = entry;
  if (last) return last;
  if (near !== undefined) return lastOf(log, agentId, { upTo });
  const expected = `expected the id of an agent of this storage, which has none with the id ${JSON.stringify(agentId)}`;
  throw new InvalidInputError("exportAgent()", [{ path: "agentId", expected }]);
}

function isAboutMore({ kind }: { readonly kind: string }): boolean {
  return kind !== "custody";
}

/** Where its log ends. @throws AgentMovedError */
async function assertHere({ log }: LogStorage, agentId: string): Promise<number | undefined> {
  const { index, end } = await readEntries(log, agentId, { sinceSnapshot: true });
  const { state = "here", to } = index.statusState.custody ?? {};
  if (state === "moving" || state === "moved") throw new AgentMovedError(agentId, state, to);
  return end?.position;
}

/** Durable when it resolves to the id of the move. Goes on with a move that has begun. */
async function beginMove(storage: TransferStorage<"lines">, agentId: string): Promise<string> {
  await lastOf(storage.log, agentId);
  await using journal = await openForMove(storage, agentId);
  const { custody } = journal.statusState;
  if (custody?.state === "moving" && custody.move !== undefined) return custody.move;
  const move = randomId();
  await journal.store([{ kind: "custody", state: "moving", at: journal.clock.now(), move }]);
  return move;
}

/** Owns an agent that may be moving. @throws AgentMovedError, AgentCopiedError, AgentBusyError */
export function openForMove(storage: LogStorage, agentId: string): Promise<Journal> {
  return Journal.open({ storage, agentId, clock: systemClock, maxCheckpointBytes: Infinity, custody: "move" });
}
