import { HistoryFold, type StoredMessage } from "../../checkpoint/messages/LinkedHistory.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { CheckpointRecord } from "../../checkpoint/records/CheckpointRecord.ts";
import { linesTo } from "../../checkpoint/lines/linesTo.ts";
import { visitAt } from "../../checkpoint/state/AgentState.ts";
import { foldTo, foldUpTo } from "../../checkpoint/state/foldTo.ts";
import { lineValue } from "../../checkpoint/state/lineValue.ts";
import type { RunLine } from "../../checkpoint/toolCallId.ts";
import { isSameValue } from "../../checkpoint/values/isSameValue.ts";
import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import { type LaneSpan, lanesToHead } from "./lanesToHead.ts";
import { LineResults } from "./LineResults.ts";
import type {
  RecordedCheckpoint,
  RecordedLine,
  RecordedNested,
  RecordedStart,
  RecordedState,
} from "./Recording.ts";

interface OpenPart {
  readonly line: RunLine;
  readonly start?: RecordedStart;
  readonly checkpoints: RecordedCheckpoint[];
  readonly nested: readonly RecordedNested[];
}

/** Reads the records of one line, from its start to a point. */
export class LineReader {
  readonly #log: AgentLog;
  readonly #parts: OpenPart[] = [];
  readonly #results: LineResults;
  readonly #spans: readonly LaneSpan[];
  #history = new HistoryFold();
  #added: Message[] = [];
  #isEdited = false;
  /** The history before its first trim since the last checkpoint. */
  #untrimmed: readonly Message[] | undefined;
  /** Whether the state has changed since the last checkpoint. */
  #isChanged = false;
  #last: CheckpointRecord | undefined;
  #lastGeneration: number | undefined;

  constructor(log: AgentLog, head: { readonly lane: number; readonly upTo: number }) {
    this.#log = log;
    this.#spans = lanesToHead(log.index, head);
    this.#results = new LineResults(log);
  }

  read(): RecordedLine {
    const { index, agentId } = this.#log;
    for (const [at, span] of this.#spans.entries()) this.#readLane(span, at === 0);
    const { lane = 0 } = this.#spans.at(-1) ?? {};
    return { parts: this.#parts, ...this.#results.read(), lines: linesTo(index, agentId, lane) };
  }

  #readLane({ lane, record: start, upTo }: LaneSpan, isFirst: boolean): void {
    const { index, agentId } = this.#log;
    const [line = { agentId, runId: "", lane }] = linesTo(index, agentId, lane);
    const records = index.laneRecords.get(lane) ?? [];
    const begun = { line, checkpoints: [], nested: this.#nestedIn({ lane, upTo, record: start }) };
    if (isFirst) {
      const state = foldUpTo(index, lane, undefined, records[0]?.order ?? -1);
      this.#history = new HistoryFold(state?.history.map((entry) => ({ ...entry, message: entry.message })));
      this.#parts.push(begun);
    }
    for (const { record, order } of records) {
      if (order > upTo) return;
      if (index.requests.isForgotten(record, order)) continue;
      this.#results.add(record, order);
      if (record.kind === "checkpoint") this.#addCheckpoint(record, order, begun);
      else this.#addChange(record, order);
    }
    if (this.#last && this.#results.hasVisit([this.#last.version, 0])) this.#resume(begun);
  }

  /** Starts a part at a checkpoint that a node made for another node, if a later process continued from it. */
  #resume(lane: OpenPart): void {
    const last = this.#last;
    const made = this.#parts.at(-1)?.checkpoints.at(-1);
    if (!last || made?.version !== last.version || !isForeseen(last)) return;
    const { checkpointId, version, nodeId, input } = made;
    const state = this.#stateAt(version);
    const start = withoutUndefined({ move: "resume" as const, checkpointId, version, nodeId, input, state });
    this.#parts.push({ ...lane, start: { ...start, visit: [version, 0] }, checkpoints: [] });
  }

  #addChange(record: AgentRecord, order: number): void {
    if (record.kind === "storage" || record.kind === "settings") this.#isChanged = true;
    if (record.kind === "message") this.#push(record, record.lane, order);
    if (record.kind !== "edit") return;
    if (record.trim) this.#untrimmed ??= this.#messages;
    else this.#isEdited = true;
    const insert = record.insert.map((entry) => this.#byValue(entry, record.lane, order));
    this.#history.edit({ ...record, insert });
    this.#isChanged = true;
  }

  #push(entry: StoredMessage, lane: number, order: number): void {
    const stored = this.#byValue({ number: entry.number, message: entry.message }, lane, order);
    this.#history.push(stored);
    this.#added.push(this.#log.readValue(stored.message) as Message);
    this.#isChanged = true;
  }

  #addCheckpoint(record: CheckpointRecord, order: number, lane: OpenPart): void {
    const { index } = this.#log;
    const { version, node: nodeId, unresolved, iteration, joined, visit, move } = record;
    const { id: checkpointId = String(version), generation } = index.checkpoints.get(version) ?? {};
    if (!move && generation !== this.#lastGeneration) this.#resume(lane);
    const input = this.#read(record.input, record.lane, order);
    const own = withoutUndefined({ checkpointId, version, nodeId, input, unresolved });
    if (move && this.#parts.length > 0) {
      const isKept = this.#last && !this.#isChanged && this.#isSamePoint(record, this.#last, input);
      const state = isKept ? undefined : this.#stateAt(version);
      const start = withoutUndefined({ ...own, move, joined, visit: visitAt(pointOf(version, record)), state });
      this.#parts.push({ ...lane, start, checkpoints: [] });
    } else {
      const isWithin = visit !== undefined || isForeseen(record);
      const history = this.#isEdited ? (this.#untrimmed ?? this.#messages) : undefined;
      const trimmed = this.#untrimmed && this.#messages;
      const within = isWithin || undefined;
      const checkpoint = { ...own, iteration, within, added: this.#added, history, trimmed };
      this.#parts.at(-1)?.checkpoints.push(withoutUndefined(checkpoint));
    }
    this.#last = record;
    this.#lastGeneration = generation;
    this.#added = [];
    this.#isEdited = false;
    this.#untrimmed = undefined;
    this.#isChanged = false;
  }

  /** Returns whether a part starts with the state and the position of the checkpoint before it. */
  #isSamePoint(record: CheckpointRecord, before: CheckpointRecord, input: unknown): boolean {
    const at = this.#parts.at(-1)?.checkpoints.at(-1) ?? this.#parts.at(-1)?.start;
    const isWithin = !before.move && (before.visit !== undefined || isForeseen(before));
    if (!at || isWithin || record.node !== before.node) return false;
    return at.input === input || isSameValue(at.input, input);
  }

  #stateAt(version: number): RecordedState | undefined {
    const { index } = this.#log;
    const point = index.checkpoints.get(version);
    const state = point && foldTo(index, point);
    if (!state) return undefined;
    const reader = this.#log.reader(state);
    const { model, parameters, tools } = state.settings ?? {};
    return withoutUndefined({
      messages: state.history.map(({ message }) => reader.message(message)),
      storage: [...state.storage].map(([key, slot]) => [key, reader.read(slot)] as const),
      model,
      parameters: parameters === undefined ? undefined : (reader.read(parameters) as Record<string, unknown>),
      tools,
      iteration: point.record.iteration,
      decisions: state.decisions.map(({ decision, reason }) => withoutUndefined({ decision, reason })),
    });
  }

  get #messages(): readonly Message[] {
    return this.#history.entries().map(({ message }) => this.#log.readValue(message) as Message);
  }

  #byValue<Entry extends StoredMessage>(entry: Entry, lane: number, order: number): Entry {
    return { ...entry, message: lineValue(this.#log.index, lane, entry.message, order) };
  }

  #read(slot: StoredValue, lane: number, order: number): unknown {
    return this.#log.readValue(lineValue(this.#log.index, lane, slot, order));
  }

  #nestedIn({ lane, upTo }: LaneSpan): readonly RecordedNested[] {
    const { lines } = this.#log.index;
    return lines.childrenOf(lane).flatMap(({ place, lanes, begun }): RecordedNested[] => {
      const newest = lanes.findLast(([, at]) => at <= upTo)?.[0];
      if (begun > upTo || newest === undefined || newest <= lane) return [];
      const line = new LineReader(this.#log, { lane: newest, upTo }).read();
      return "fork" in place ? [{ fork: place.fork, branch: place.branch, line }] : [{ call: place.call, line }];
    });
  }
}

/** Returns whether a running node made a checkpoint that continues with another visit. */
function isForeseen({ trigger, visit, move }: CheckpointRecord): boolean {
  return trigger === "asked_for" && visit === undefined && move === undefined;
}

function pointOf(version: number, record: CheckpointRecord): Parameters<typeof visitAt>[0] {
  return { version, record } as Parameters<typeof visitAt>[0];
}
