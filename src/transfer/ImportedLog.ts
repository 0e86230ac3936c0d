import type { ChainLink } from "../checkpoint/format/EntryChain.ts";
import { lineReferences, openLineStates, unreachedLine } from "../checkpoint/data/openLines.ts";
import { wholeRecords } from "../checkpoint/format/leanRecords.ts";
import { decodeAppend } from "../checkpoint/format/entryCodec.ts";
import { type NextNumbers, numbersAfter, unknownKind, validateRecord } from "../checkpoint/format/validateRecord.ts";
import { liveEntries, pruningIn } from "../checkpoint/pruning/liveEntries.ts";
import type { AgentRecord } from "../checkpoint/records/AgentRecord.ts";
import type { Entry, LogRecord } from "../checkpoint/records/Entry.ts";
import { foldTo } from "../checkpoint/state/foldTo.ts";
import { LogProjection } from "../checkpoint/state/LogProjection.ts";
import { stateReferences } from "../checkpoint/state/leanState.ts";
import { InvalidArchiveError } from "../errors/storedDataErrors.ts";
import type { Sha256 } from "../internal/sha256/Sha256.ts";
import { assertSoundLog } from "../storage/readEntries.ts";
import { blobsNamedIn } from "./transferredBlobs.ts";
import type { StatusRecord } from "../checkpoint/records/runRecords.ts";
import type { CheckpointRecord } from "../checkpoint/records/lineRecords.ts";
import { envelopeKeyOf, resultsIn, type StoredValue } from "../checkpoint/values/valueCodec.ts";

/** A limit for numbers that valid logs never reach. */
const highestNumber = 2 ** 52;

/** The maximum number of blobs that precede one line. */
const mostBlobsOfLine = 100_000;

/** The memory that an import needs for the number of a checkpoint or the name of a blob, in bytes. */
const bytesOfName = 100;

export interface ImportedLogOptions {
  /** Whether the agent becomes a fork. A fork writes values of the log again. */
  readonly isFork?: boolean;
  /** Whether the agent can start at a checkpoint before the newest snapshot. A fork always can. */
  readonly startsEarlier?: boolean;
  /** The limit for the memory of the kept lines, in bytes. */
  readonly mostBytes: number;
}

export interface ImportedEnd {
  readonly index: LogProjection;
  readonly end: ChainLink & { readonly generation: number };
  readonly checkpoints: number;
}

/**
 * The log of an archive. It verifies lines when they arrive. It keeps only the lines that the head needs: the newest
 * snapshot and all later lines. The values in these lines are kept only for a fork. The kept lines have a limit, so
 * that no archive can fill the memory.
 */
export class ImportedLog {
  readonly #sha256: Sha256;
  readonly #isFork: boolean;
  readonly #keepsAll: boolean;
  readonly #mostBytes: number;
  readonly #blobs = new Set<string>();
  readonly #stored = new Set<string>();
  #entries: Entry[] = [];
  #keptBytes = 0;
  #next: NextNumbers = { nextVersion: 1, nextLane: 1 };
  #position = 0;
  /** True if a pruning removed appends of the log. A later `pruned` record restates their content. */
  #wasPruned = false;
  #checkpoints = new Map<number, number>();

  constructor(sha256: Sha256, { isFork = false, startsEarlier = isFork, mostBytes }: ImportedLogOptions) {
    this.#sha256 = sha256;
    this.#isFork = isFork;
    this.#keepsAll = isFork || startsEarlier;
    this.#mostBytes = mostBytes;
  }

  /** Adds a blob that the next line must refer to. @throws InvalidArchiveError for a duplicate */
  addBlob(reference: string): void {
    if (this.#blobs.has(reference) || this.#stored.has(reference))
      throw new InvalidArchiveError(`the blob ${reference} is duplicated, or the next line does not refer to it`);
    if (this.#blobs.size >= mostBlobsOfLine)
      throw new InvalidArchiveError(`more than ${mostBlobsOfLine} blobs come before one line`);
    this.#blobs.add(reference);
  }

  addLine(line: Uint8Array): void {
    const decoded = decodeAppend(line, this.#sha256);
    if (!decoded.ok) throw new InvalidArchiveError(`a line is not readable (${decoded.defect})`);
    const entry = { ...decoded.entry, records: wholeRecords(decoded.entry.records) };
    const unnamed = blobsNamedIn(line);
    for (const reference of this.#blobs)
      if (unnamed.has(reference)) this.#stored.add(reference);
      else throw new InvalidArchiveError(`the blob ${reference} is duplicated, or the next line does not refer to it`);
    this.#blobs.clear();
    this.#assertSound(entry);
    if (decoded.snapshot && !this.#wasPruned && !this.#keepsAll) [this.#entries, this.#keptBytes] = [[], 0];
    this.#keep(this.#isFork ? entry : leanEntry(entry));
  }

  #keep(entry: Entry): void {
    this.#entries.push(entry);
    this.#keptBytes += heapBytes(entry.records);
    if (this.#keptBytes + bytesOfName * (this.#checkpoints.size + this.#stored.size) <= this.#mostBytes) return;
    throw new InvalidArchiveError(
      `its lines need more than ${this.#mostBytes} bytes of memory, a limit that rises with maxPartBytes`,
    );
  }

  /**
   * Finishes the log and returns its head and the number of checkpoints.
   *
   * @throws InvalidArchiveError, UnreadableValueError if the agent cannot continue from the head.
   */
  async end(): Promise<ImportedEnd> {
    if (this.#blobs.size > 0) throw new InvalidArchiveError("no line refers to its last blob");
    if (this.#wasPruned) await assertSoundLog(this.#entries);
    const index = indexed(this.#entries);
    if (!index.run) throw new InvalidArchiveError("it has no run");
    for (const reference of neededBy(index))
      if (!this.#stored.has(reference)) throw new InvalidArchiveError(`the blob ${reference} is missing`);
    const { position = 0, checksum = "", generation = 0 } = this.#entries.at(-1) ?? {};
    this.#assertTarget(index);
    return { index, end: { position, checksum, generation }, checkpoints: this.#checkpoints.size };
  }

  #assertTarget({ rollback }: LogProjection): void {
    const { target, base = target } = rollback ?? {};
    const missing = [target, base].find((version) => version !== undefined && !this.#checkpoints.has(version));
    if (missing === undefined) return;
    throw new InvalidArchiveError(
      `the checkpoint with version ${missing}, which the rollback to version ${target} needs, is missing`,
    );
  }

  #assertSound(entry: Entry): void {
    const pruning = pruningIn([entry]);
    this.#wasPruned ||= entry.position !== this.#position + 1;
    this.#position = entry.position;
    const unknown = unknownKind(entry);
    if (unknown !== undefined)
      throw new InvalidArchiveError(`append ${entry.position} has a record of the unknown kind "${unknown}"`);
    // Numbers of a pruned log are checked at its end, because restated records would be counted twice.
    const defect = validateRecord(entry, this.#wasPruned || pruning ? undefined : this.#next);
    if (defect !== undefined) throw new InvalidArchiveError(defect);
    const records = entry.records as readonly AgentRecord[];
    this.#next = records.reduce(numbersAfter, this.#next);
    if (pruning) {
      this.#wasPruned = true;
      const after = [...this.#checkpoints].filter(([, position]) => position > pruning.upTo);
      this.#checkpoints = new Map();
      for (const { position, records: restated } of pruning.restated) this.#addCheckpoints(restated, position);
      for (const [version, position] of after) this.#checkpoints.set(version, position);
    }
    this.#addCheckpoints(records, entry.position);
  }

  #addCheckpoints(records: readonly AgentRecord[], position: number): void {
    for (const record of records) if (record.kind === "checkpoint") this.#checkpoints.set(record.version, position);
  }
}

/** @throws InvalidArchiveError for records that cannot be read. */
function leanEntry(entry: Entry): Entry {
  try {
    return { ...entry, records: entry.records.map(withoutValues) };
  } catch (cause) {
    throw new InvalidArchiveError("its records do not fit together", { cause });
  }
}

/** @throws InvalidArchiveError if an agent cannot continue from these entries. */
function indexed(entries: readonly Entry[]): LogProjection {
  const index = new LogProjection();
  try {
    for (const entry of liveEntries(entries)) index.add(entry);
    assertReached(index);
    return index;
  } catch (cause) {
    if (cause instanceof InvalidArchiveError) throw cause;
    throw new InvalidArchiveError("its records are inconsistent", { cause });
  }
}

function neededBy(index: LogProjection): readonly string[] {
  const state = foldTo(index);
  return [...(state ? stateReferences(state).keys() : []), ...lineReferences(index, openLineStates(index)).keys()];
}

function assertReached(index: LogProjection): void {
  if (Math.max(index.nextLane, index.nextVersion) > highestNumber)
    throw new InvalidArchiveError("its numbers are too high to continue from");
  const lane = unreachedLine(index);
  if (lane !== undefined) throw new InvalidArchiveError(`the records before lane ${lane} are missing`);
  if (index.run && !foldTo(index) && index.statusState.current?.status !== "queued")
    throw new InvalidArchiveError("an agent cannot continue from its last line");
}

/**
 * Returns a new status record for an agent whose approvals must be requested again. A resume then runs the nodes that
 * request them. Returns no records if the agent does not wait for approvals.
 */
export function statusWithoutApprovals(
  { statusState: { current }, requests }: LogProjection,
  at: number,
): readonly StatusRecord[] {
  const { record } = current ?? {};
  const listed = record?.requests ?? [];
  const left = listed.filter((id) => !requests.get(id)?.record.approval);
  if (!record || left.length === listed.length) return [];
  const { run } = record;
  if (left.length === 0) return [{ kind: "status", run, status: "in_progress", at }];
  if (record.status !== "waiting") return [{ kind: "status", run, status: record.status, at, requests: left }];
  return [{ kind: "status", run, status: "waiting", at, requests: left, answered: true }];
}

type Fields = Readonly<Record<string, unknown>>;
type Lean<Kind extends AgentRecord["kind"]> = (record: Extract<AgentRecord, { kind: Kind }>) => Fields;

/** A stored `null`, which is valid in place of any stored value. */
const noValue: StoredValue = Object.freeze({ $plain: null });

/**
 * The fields that stay when the values of a record are removed. Kinds that are not listed keep their values, because
 * the summary of the agent needs them.
 */
const leanFields: { readonly [Kind in AgentRecord["kind"]]?: Lean<Kind> } = {
  message: (record) => without(record, ["message"]),
  answer: (record) => without(record, ["message"]),
  storage: (record) => without(record, ["value"]),
  note: (record) => without(record, ["value"]),
  intent: (record) => without(record, ["input"]),
  outcome: (record) => without(record, ["input", "output", "changes"]),
  checkpoint: (record) => (record.status === undefined ? leanCheckpoint(record) : {}),
  edit: ({ insert }) => ({ insert: insert.map((inserted) => ({ ...inserted, ...without(inserted, ["message"]) })) }),
  rollback: ({ participants }) =>
    participants ? { participants: participants.map((planned) => ({ ...planned, steps: noValue })) } : {},
  rollback_step: (record) => without(record, ["outcome"]),
  rollback_end: (record) => without(record, ["report"]),
  settings: (record) => without(record, ["parameters"]),
  structure: (record) => without(record, ["structure"]),
  request: (record) => ({
    ...without(record, ["prompt", "schema"]),
    ...(record.approval && { approval: { ...record.approval, ...without(record.approval, ["input"]) } }),
  }),
  reply: (record) => without(record, ["answer"]),
  snapshot: ({ checkpoint, history, storage, settings, structure, since }) => ({
    checkpoint: withoutValues(checkpoint),
    history: history.map((entry) => ({ ...entry, ...without(entry, ["message"]) })),
    storage: Object.fromEntries(Object.entries(storage).map(([key, value]) => [key, leanValue(value)])),
    ...(settings && { settings: withoutValues(settings) }),
    ...(structure && { structure: withoutValues(structure) }),
    ...(since && { since: since.map((each) => ({ ...each, records: each.records.map(withoutValues) })) }),
  }),
  pruned: ({ restated }) => ({
    restated: restated.map((each) => ({ ...each, records: each.records.map(withoutValues) })),
  }),
};

const leanOfKind: ReadonlyMap<string, unknown> = new Map(Object.entries(leanFields));

/** Returns a record without its values, but with the blobs and records that the values refer to. */
export function withoutValues<Given extends LogRecord>(record: Given): Given {
  const lean = leanOfKind.get(record.kind) as ((given: LogRecord) => Fields) | undefined;
  return lean ? { ...record, ...lean(record) } : record;
}

function leanCheckpoint(record: CheckpointRecord): Fields {
  const { verification } = record;
  return {
    ...without(record, ["input", "files"]),
    ...(verification && { verification: verification.map(leanValue) }),
  };
}

function without(record: object, fields: readonly string[]): Fields {
  const lean: Record<string, unknown> = {};
  for (const field of fields) if (field in record) lean[field] = leanValue(Reflect.get(record, field));
  return lean;
}

function leanValue(value: StoredValue): StoredValue {
  const key = envelopeKeyOf(value);
  if (key === "$blob" || key === "$message" || key === "$answer") return value;
  if (key !== "$outcomes") return value === undefined ? undefined : noValue;
  return {
    $outcomes: resultsIn(value).map(({ part, ...result }) => ({
      part: { toolCallId: part["toolCallId"] },
      ...("output" in result && { output: leanValue(result.output) }),
    })),
  };
}

const objectBytes = 24;
const slotBytes = 8;

/** Estimates the memory that a JSON value takes, in bytes. */
export function heapBytes(value: unknown): number {
  let sum = 0;
  // A list instead of recursion, because stored values can be nested deeper than the stack allows.
  const open = [value];
  while (open.length > 0) {
    const next = open.pop();
    sum += slotBytes;
    if (typeof next === "string") sum += objectBytes + 2 * next.length;
    else if (typeof next === "object" && next !== null) {
      sum += objectBytes;
      for (const item of Array.isArray(next) ? (next as readonly unknown[]) : Object.values(next)) open.push(item);
    }
  }
  return sum;
}
