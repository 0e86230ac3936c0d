import { hasSnapshot, linkOf, generationOfAppend, decodeAppend, knownLinkOf } from "../checkpoint/format/entryCodec.ts";
import type { Entry, LogRecord } from "../checkpoint/records/Entry.ts";
import { isRestating, isShapeRecord } from "../checkpoint/format/ShapeRecord.ts";
import { UnreadableValueError } from "../errors/storedDataErrors.ts";
import { Pace } from "../internal/nextTurn.ts";
import type { Sha256 } from "../internal/sha256/Sha256.ts";
import type { ReadOptions, RecordLog } from "../storage/RecordLog.ts";
import type { ChainLink } from "../checkpoint/format/EntryChain.ts";
import { liveEntries, pruningIn } from "../checkpoint/pruning/liveEntries.ts";
import type { AgentRecord } from "../checkpoint/records/AgentRecord.ts";
import type { CustodyRecord } from "../checkpoint/records/runRecords.ts";
import { initialStatus, statusAfter } from "../checkpoint/state/StatusState.ts";
import { includesText, utf8 } from "../internal/bytes.ts";
import { assertOfAgent } from "../storage/readEntries.ts";

/** A line without these texts is not parsed. A search is fast for a text that starts with a rare character. */
const marksOfAgent = /* @__PURE__ */ [':"custody"', ':"origin"', ':"pruned"'].map(utf8);
const marksOfShape = /* @__PURE__ */ [':"custody"', ':"origin"', ':"pruned"', '"restates":true'].map(utf8);

export type CopiedLog = Pick<RecordLog, "read"> & Required<Pick<RecordLog, "encodedAppends">>;

type SourceLog = CopiedLog & Partial<Pick<RecordLog, "capabilities">>;

/** The maximum number of line bytes kept in memory. */
const mostBytes = 16 * 1024 * 1024;

export interface KeptLog extends CopiedLog {
  /** The lines of the log. `undefined` if they exceed the limit. */
  readonly kept?: readonly KeptAppend[];
}

/**
 * Returns a log whose lines are read and verified only once, because they are kept. Returns the given log if its lines
 * exceed the limit. A redacted log above the limit is returned in its stored form, as kept lines are.
 *
 * @param survey Receives all lines.
 */
export async function keptAppends(
  log: SourceLog,
  agentId: string,
  sha256: Sha256,
  survey?: SurveyedLines,
): Promise<KeptLog> {
  const pace = new Pace();
  const kept: KeptAppend[] = [];
  let bytes = 0;
  for await (const line of log.encodedAppends(agentId)) {
    bytes += line.length;
    if (bytes <= mostBytes) kept.push({ line, position: (knownLinkOf(line) ?? linkOf(line))?.position ?? 0 });
    else if (!survey) break;
    survey?.add(line);
    await pace.after(line.length);
  }
  if (bytes > mostBytes) return log.capabilities?.redacted ? storedForm(log, sha256) : log;
  return {
    kept,
    async *encodedAppends(_agentId, { upTo = Infinity } = {}) {
      for (const { line, position } of kept) if (position <= upTo) yield line;
    },
    async *read(_agentId, { after = 0, upTo = Infinity, sinceSnapshot } = {}) {
      const within = kept.filter(({ position }) => position > after && position <= upTo);
      const first = sinceSnapshot
        ? Math.max(
            0,
            within.findLastIndex(({ line }) => hasSnapshot(line)),
          )
        : 0;
      for (const each of within.slice(first)) yield entryIn(each, sha256);
    },
  };
}

function entryIn({ line, position }: KeptAppend, sha256: Sha256): Entry {
  const decoded = decodeAppend(line, sha256);
  if (!decoded.ok) throw new UnreadableValueError(`append ${position} is not readable (${decoded.defect})`);
  return decoded.entry;
}

/** The facts about a log that an export needs before it reads the lines. */
export interface LogSurvey {
  /** The last append with more than custody records. */
  readonly last: (ChainLink & { readonly generation: number }) | undefined;
  /** The custody record, if the agent cannot run here. `undefined` if it can run. */
  readonly custody: CustodyRecord | undefined;
  /** Up to this position, only the records in the newest pruning are valid. 0 without a pruning. */
  readonly prunedUpTo: number;
  readonly firstRecords: readonly LogRecord[];
}

interface SurveyOptions {
  readonly sha256: Sha256;
  readonly upTo?: number;
}

/**
 * Reads the lines of an agent's log and parses only the relevant ones. The log verifies the lines.
 *
 * @throws WrongShapeError if the log does not belong to an agent.
 */
export async function surveyLog(
  log: Pick<CopiedLog, "encodedAppends">,
  agentId: string,
  options: SurveyOptions,
): Promise<LogSurvey> {
  const survey = await surveyAnyLog(log, agentId, options);
  assertOfAgent(agentId, { records: survey.firstRecords });
  return survey;
}

/** Reads the lines of any log, like {@link surveyLog}. */
export async function surveyAnyLog(
  log: Pick<CopiedLog, "encodedAppends">,
  logId: string,
  { sha256, ...options }: SurveyOptions,
): Promise<LogSurvey> {
  const pace = new Pace();
  const survey = new SurveyedLines(sha256);
  for await (const line of log.encodedAppends(logId, options)) {
    survey.add(line);
    await pace.after(line.length);
  }
  return survey.result;
}

/** Collects the facts about a log from its lines. */
export class SurveyedLines {
  readonly #sha256: Sha256;
  readonly #marked: Entry[] = [];
  #first: Entry | undefined;
  #last: Uint8Array | undefined;

  constructor(sha256: Sha256) {
    this.#sha256 = sha256;
  }

  add(line: Uint8Array): void {
    this.#first ??= entryOf(line, this.#sha256);
    const entry = isMarked(line, this.#first) ? entryOf(line, this.#sha256) : undefined;
    if (entry) this.#marked.push(entry);
    if (!entry || entry.records.some(isAboutMore)) this.#last = line;
  }

  get result(): LogSurvey {
    const prunedUpTo = pruningIn(this.#marked)?.upTo ?? restatedUpTo(this.#marked);
    const last = this.#last && placeOf(this.#last, this.#sha256);
    return { last, custody: custodyIn(this.#marked), prunedUpTo, firstRecords: this.#first?.records ?? [] };
  }
}

/** Returns whether a log still has an append that was read earlier, and was not pruned since then. */
export async function isAsRead(log: Pick<RecordLog, "read">, logId: string, end: ChainLink): Promise<boolean> {
  let isFound = false;
  for await (const { checksum, records } of log.read(logId, { after: end.position - 1 })) {
    if (isFound ? records.some(({ kind }) => kind === "pruned") : checksum !== end.checksum) return false;
    isFound = true;
  }
  return isFound;
}

const batchBytes = 256 * 1024;

/** Yields the lines up to a position in arrays, because waiting for each kept line takes long. */
export async function* linesInBatches(
  log: KeptLog,
  agentId: string,
  upTo: number,
): AsyncGenerator<readonly Uint8Array[]> {
  if (!log.kept) for await (const line of log.encodedAppends(agentId, { upTo })) yield [line];
  let [batch, bytes]: [Uint8Array[], number] = [[], 0];
  for (const { line, position } of log.kept ?? []) {
    if (position > upTo) break;
    batch.push(line);
    bytes += line.length;
    if (bytes < batchBytes) continue;
    yield batch;
    [batch, bytes] = [[], 0];
  }
  yield batch;
}

function isMarked(line: Uint8Array, first: Entry | undefined): boolean {
  const marks = first?.records.some(isShapeRecord) ? marksOfShape : marksOfAgent;
  return marks.some((mark) => includesText(line, mark));
}

/** Returns the last position whose content a thread, a session or an inbox repeats later. */
function restatedUpTo(marked: readonly Entry[]): number {
  const last = marked.findLast(({ records }) => records.some(isRestating));
  return last ? last.position - 1 : 0;
}

function placeOf(line: Uint8Array, sha256: Sha256): LogSurvey["last"] {
  const [link, generation] = [linkOf(line), generationOfAppend(line, sha256)];
  return link && generation ? { ...link, generation } : undefined;
}

function entryOf(line: Uint8Array, sha256: Sha256): Entry | undefined {
  const decoded = decodeAppend(line, sha256);
  return decoded.ok ? decoded.entry : undefined;
}

function custodyIn(marked: readonly Entry[]): CustodyRecord | undefined {
  const records = liveEntries(marked).flatMap((entry) => entry.records as readonly AgentRecord[]);
  const about = records.filter(({ kind }) => kind === "custody" || kind === "origin");
  return about.reduce((state, record) => statusAfter(state, record, 1), initialStatus).custody;
}

interface KeptAppend {
  readonly line: Uint8Array;
  readonly position: number;
}

type StoredLog = Pick<RecordLog, "read"> & Required<Pick<RecordLog, "encodedAppends">>;

/**
 * Returns whether an archive contains the record if it is at the end of the log. An archive omits custody records there,
 * except for a record with `asksAgain`.
 */
export function isAboutMore(record: { readonly kind: string; readonly asksAgain?: true }): boolean {
  return record.kind !== "custody" || record.asksAgain === true;
}

/** Returns a log whose entries are read from its lines. */
function storedForm(log: StoredLog, sha256: Sha256): StoredLog {
  async function* within(agentId: string, { after = 0, upTo }: ReadOptions): AsyncGenerator<KeptAppend> {
    for await (const line of log.encodedAppends(agentId, upTo === undefined ? {} : { upTo })) {
      const position = linkOf(line)?.position ?? 0;
      if (position > after) yield { line, position };
    }
  }
  return {
    encodedAppends: (...given) => log.encodedAppends(...given),
    async *read(agentId, options = {}) {
      let begin = 0;
      if (options.sinceSnapshot)
        for await (const { line, position } of within(agentId, options)) if (hasSnapshot(line)) begin = position;
      for await (const kept of within(agentId, options)) if (kept.position >= begin) yield entryIn(kept, sha256);
    },
  };
}
