import type { RunSettings } from "../../agent/state/RunState.ts";
import { linePath } from "../../checkpoint/data/linePath.ts";
import type { RunLine } from "../../checkpoint/ids/toolCallId.ts";
import { linesTo } from "../../checkpoint/lines/lineage.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type {
  SettingsRecord,
  LaneRecord,
  CheckpointRecord,
  CheckpointPoint,
  MessageRecord,
} from "../../checkpoint/records/lineRecords.ts";
import { visitAt } from "../../checkpoint/state/AgentState.ts";
import { mergedAt } from "../../checkpoint/state/BranchChanges.ts";
import { foldUpTo } from "../../checkpoint/state/foldTo.ts";
import { byValue } from "../../checkpoint/state/leanState.ts";
import { lineValue } from "../../checkpoint/state/lineValue.ts";
import type { OrderedRecord, LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { isSameValue } from "../../checkpoint/values/isSameValue.ts";
import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import { LineResults } from "./LineResults.ts";
import { recordedStateAt } from "./readStart.ts";
import {
  type RecordedCheckpoint,
  type LineRecording,
  type RecordedNested,
  type RecordedStart,
  type RecordedState,
  isForeseen,
  madeWithin,
  type RecordedChange,
  type RecordedTrim,
} from "./Recording.ts";
import { HistoryFold, type StoredMessage } from "../../checkpoint/messages/LinkedHistory.ts";

interface OpenPart {
  readonly line: RunLine;
  readonly start?: RecordedStart;
  settings?: RunSettings;
  readonly checkpoints: RecordedCheckpoint[];
  readonly nested: readonly RecordedNested[];
}

/** Reads the records of one line, from its start to a point. */
export class LineReader {
  /** The messages of the previous run. `undefined` if the line started without these messages. */
  keptHistory: readonly Message[] | undefined;
  readonly #log: AgentLog;
  readonly #parts: OpenPart[] = [];
  readonly #results: LineResults;
  readonly #history: HistoryReader;
  readonly #spans: readonly LaneSpan[];
  /** Whether the state has changed since the last checkpoint. */
  #isChanged = false;
  #last: CheckpointRecord | undefined;
  #generation: number | undefined;

  constructor(log: AgentLog, head: { readonly lane: number; readonly upTo: number }) {
    this.#log = log;
    this.#spans = lanesToHead(log.index, head);
    this.#results = new LineResults(log);
    this.#history = new HistoryReader(log);
  }

  read(): LineRecording {
    const { index, agentId } = this.#log;
    for (const [at, span] of this.#spans.entries()) this.#readLane(span, at === 0);
    const { lane = 0 } = this.#spans.at(-1) ?? {};
    const path = linePath(index, lane);
    return { parts: this.#parts, ...this.#results.read(), lines: linesTo(index, agentId, lane), path };
  }

  #readLane({ lane, record: start, upTo }: LaneSpan, isFirst: boolean): void {
    const { index, agentId } = this.#log;
    const [line = { agentId, runId: "", lane }] = linesTo(index, agentId, lane);
    const records = (index.laneRecords.get(lane) ?? []).filter(({ order }) => order <= upTo);
    const changes = settingsChanges(records);
    const changedAt = [...changes].map(({ order }) => order);
    const begun = { line, checkpoints: [], nested: this.#nestedIn({ lane, upTo, record: start }, changedAt) };
    if (isFirst) this.#begin(start, begun, records[0]?.order ?? -1);
    for (const ordered of records) {
      const { record, order } = ordered;
      if (!index.requests.isForgotten(record, order)) this.#add(record, order, begun);
      if (record.kind === "settings" && changes.has(ordered)) this.#changeSettings(record, order, begun);
    }
    if (this.#last && this.#results.hasVisit([this.#last.version, 0])) this.#resume(begun);
  }

  #begin({ lane, keep }: LaneSpan["record"], begun: OpenPart, order: number): void {
    const state = foldUpTo(this.#log.index, lane, undefined, order);
    const entries = state?.history.map(({ number, message }) => ({ number, message: byValue(message, state) }));
    this.#history.begin(entries ?? []);
    if (keep === "history") this.keptHistory = this.#history.messages;
    this.#parts.push(begun);
  }

  #add(record: AgentRecord, order: number, lane: OpenPart): void {
    this.#results.add(record, order);
    this.#history.add(record, order);
    this.#isChanged ||= changesState.has(record.kind);
    if (record.kind === "checkpoint") this.#addCheckpoint(record, order, lane);
  }

  /** Starts a part at a checkpoint that a node made for another node, if a later process continued from there. */
  #resume(lane: OpenPart): void {
    const last = this.#last;
    const made = this.#parts.at(-1)?.checkpoints.at(-1);
    if (!last || made?.version !== last.version || !isForeseen(last)) return;
    const { checkpointId, version, nodeId, input } = made;
    const state = this.#stateAt(version);
    const start = withoutUndefined({ move: "resume" as const, checkpointId, version, nodeId, input, state });
    this.#parts.push({ ...lane, start: { ...start, visit: [version, 0] }, checkpoints: [] });
  }

  /** Starts a part at the last checkpoint, from which a resume has continued with other settings. */
  #changeSettings({ model, parameters, tools }: SettingsRecord, order: number, lane: OpenPart): void {
    const read =
      parameters === undefined ? {} : { parameters: this.#read(parameters, lane.line.lane, order) as object };
    const settings = { model, tools, ...read } as RunSettings;
    const part = this.#parts.at(-1);
    const at = part?.checkpoints.findLastIndex(({ within }) => !within) ?? -1;
    const before = part?.checkpoints[at];
    if (part && !before) part.settings = settings;
    if (!part || !before) return;
    const { checkpointId, version, nodeId, input, unresolved } = before;
    const joined = this.#log.index.checkpoints.get(version)?.record.joined;
    const own = withoutUndefined({ checkpointId, version, nodeId, input, unresolved, joined });
    const start = { ...own, move: "resume" as const, visit: [version, 0] as const };
    this.#parts.push({ ...lane, start, settings, checkpoints: part.checkpoints.splice(at + 1) });
  }

  #addCheckpoint(record: CheckpointRecord, order: number, lane: OpenPart): void {
    const { version, node: nodeId, unresolved, move } = record;
    const { id: checkpointId = String(version), generation } = this.#log.index.checkpoints.get(version) ?? {};
    if (!move && generation !== this.#generation) this.#resume(lane);
    const input = this.#read(record.input, record.lane, order);
    const own = withoutUndefined({ checkpointId, version, nodeId, input, unresolved });
    const changes = this.#history.take();
    if (move && this.#parts.length > 0)
      this.#parts.push({ ...lane, start: this.#startAt(record, own), checkpoints: [] });
    else this.#parts.at(-1)?.checkpoints.push({ ...own, ...changes, ...placeOf(record) });
    this.#last = record;
    this.#generation = generation;
    this.#isChanged = false;
  }

  #startAt(record: CheckpointRecord, own: Omit<RecordedStart, "move" | "visit">): RecordedStart {
    const { move = "branch", version } = record;
    const visit = visitAt({ version, record });
    const joined = mergedAt(this.#log.index, { version, record });
    const isKept = this.#last && !this.#isChanged && this.#isSamePoint(record, this.#last, own.input);
    const state = isKept ? undefined : this.#stateAt(version);
    return { ...own, ...withoutUndefined({ move, joined, visit, state }) };
  }

  /** Returns whether a part starts with the state and the position of the previous checkpoint. */
  #isSamePoint(record: CheckpointRecord, before: CheckpointRecord, input: unknown): boolean {
    const at = this.#parts.at(-1)?.checkpoints.at(-1) ?? this.#parts.at(-1)?.start;
    const isWithin = !before.move && (before.visit !== undefined || isForeseen(before));
    if (!at || isWithin || record.node !== before.node || record.iteration !== before.iteration) return false;
    return at.input === input || isSameValue(at.input, input);
  }

  #stateAt(version: number): RecordedState | undefined {
    const point = this.#log.index.checkpoints.get(version);
    return point && recordedStateAt(this.#log, point);
  }

  #settingsAt(version: number): RunSettings | undefined {
    const { model, parameters, tools } = this.#stateAt(version) ?? {};
    return model === undefined ? undefined : { model, tools: tools ?? [], ...(parameters && { parameters }) };
  }

  #read(slot: StoredValue, lane: number, order: number): unknown {
    return this.#log.readValue(lineValue(this.#log.index, lane, slot, order));
  }

  /**
   * Returns the nested lines of a lane. A branch that was open at a change of settings has started with the old
   * settings.
   */
  #nestedIn({ lane, upTo }: LaneSpan, changes: readonly number[]): readonly RecordedNested[] {
    const { lines } = this.#log.index;
    return lines.childrenOf(lane).flatMap(({ place, lanes, begun }): RecordedNested[] => {
      const newest = lanes.findLast(([, at]) => at <= upTo)?.[0];
      if (begun > upTo || newest === undefined || newest <= lane) return [];
      const line = new LineReader(this.#log, { lane: newest, upTo }).read();
      if (!("fork" in place)) return [{ call: place.call, line }];
      const isChanged = changes.some((order) => order > begun);
      const settings = isChanged ? this.#settingsAt(place.fork) : undefined;
      return [{ fork: place.fork, branch: place.branch, line: startedWith(line, settings) }];
    });
  }
}

/** Returns the settings that a resume changed, from the append of the node or the first append of the lane. */
function settingsChanges(records: readonly OrderedRecord[]): ReadonlySet<OrderedRecord> {
  const appends = new Set(records.flatMap(({ record, position }) => (record.kind === "checkpoint" ? position : [])));
  appends.add(records[0]?.position ?? -1);
  return new Set(records.filter(({ record, position }) => record.kind === "settings" && !appends.has(position)));
}

function startedWith(line: LineRecording, settings: RunSettings | undefined): LineRecording {
  const [first, ...rest] = line.parts;
  return first && settings ? { ...line, parts: [{ settings, ...first }, ...rest] } : line;
}

const changesState: ReadonlySet<string> = new Set(["message", "edit", "storage", "settings"]);

function placeOf(
  record: CheckpointRecord,
): Pick<RecordedCheckpoint, "iteration" | "within" | "visit" | "triggered" | "joined"> {
  const { iteration, visit, trigger, joined } = record;
  const within = madeWithin(record);
  return {
    iteration,
    ...(within && { within }),
    ...(visit && { visit }),
    ...(within && trigger !== "asked_for" && { triggered: true }),
    ...(joined !== undefined && { joined: true }),
  };
}

/** A lane of a line, with its records up to a given order in the log. */
interface LaneSpan {
  readonly record: LaneRecord;
  readonly lane: number;
  readonly upTo: number;
}

/** Returns the lanes from the start of a run, a branch or a sub-agent to a point of its line, oldest first. */
export function lanesToHead(index: LogProjection, head: Pick<LaneSpan, "lane" | "upTo">): readonly LaneSpan[] {
  const spans: LaneSpan[] = [];
  let at: Pick<LaneSpan, "lane" | "upTo"> | undefined = head;
  while (at && spans.length <= index.lanes.size) {
    const record: LaneRecord | undefined = index.lanes.get(at.lane)?.record;
    if (!record) break;
    spans.unshift({ ...at, record });
    const before: CheckpointPoint | undefined =
      record.keep === "all" ? index.checkpoints.get(record.from ?? -1) : undefined;
    at = before && { lane: before.record.lane, upTo: before.order };
  }
  return spans;
}

type Change = Pick<RecordedChange, "added" | "history">;

/** Reads the messages of a line, and how they change between two checkpoints. */
class HistoryReader {
  readonly #log: AgentLog;
  #history = new HistoryFold();
  #added: Message[] = [];
  #isEdited = false;
  readonly #trims: RecordedTrim[] = [];
  /** The changes before a trim, while the last edit of the trim has not been read. */
  #trimming: Change | undefined;

  constructor(log: AgentLog) {
    this.#log = log;
  }

  begin(entries: readonly StoredMessage[]): void {
    this.#history = new HistoryFold(entries);
  }

  add(record: AgentRecord, order: number): void {
    if (record.kind !== "message" && record.kind !== "edit") return;
    if (record.kind === "edit" && record.trim) this.#trimming ??= this.#take();
    else this.#endTrim();
    if (record.kind === "message") return this.#push(record, order);
    this.#isEdited ||= !record.trim;
    const insert = record.insert.map((entry) => this.#byValue(entry, record.lane, order));
    this.#history.edit({ ...record, insert });
  }

  /** Returns the changes since the last call. */
  take(): Pick<RecordedCheckpoint, "added" | "history" | "trims"> {
    this.#endTrim();
    const trims = this.#trims.splice(0);
    return { ...this.#take(), ...(trims.length > 0 && { trims }) };
  }

  get messages(): readonly Message[] {
    return this.#history.entries().map(({ message }) => this.#log.readValue(message) as Message);
  }

  #push({ number, message, lane }: MessageRecord, order: number): void {
    const stored = this.#byValue({ number, message }, lane, order);
    this.#history.push(stored);
    this.#added.push(this.#log.readValue(stored.message) as Message);
  }

  #take(): Change {
    const change = { added: this.#added, ...(this.#isEdited && { history: this.messages }) };
    this.#added = [];
    this.#isEdited = false;
    return change;
  }

  #endTrim(): void {
    if (this.#trimming) this.#trims.push({ ...this.#trimming, trimmed: this.messages });
    this.#trimming = undefined;
  }

  #byValue<Entry extends StoredMessage>(entry: Entry, lane: number, order: number): Entry {
    return { ...entry, message: lineValue(this.#log.index, lane, entry.message, order) };
  }
}
