import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import type { Pace } from "../../internal/nextTurn.ts";
import type { AgentRecord } from "../records/AgentRecord.ts";
import { type LaneRecord, originOf, type CheckpointRecord } from "../records/lineRecords.ts";
import { recordByValue } from "../state/foldTo.ts";
import type { LogProjection, OrderedRecord } from "../state/LogProjection.ts";
import type { StoredValue } from "../values/valueCodec.ts";
import { StateSpan } from "./StateSpan.ts";

/** Follows every lane once from its start. @throws UnreadableValueError if lanes start from each other in a cycle. */
export async function keptStates(index: LogProjection, kept: ReadonlySet<number>, pace: Pace): Promise<KeptStates> {
  const walk = new KeptStates(index, kept);
  for (const passed of walk.steps()) await pace.after(passed);
  const lost = [...kept].find((version) => index.checkpoints.has(version) && !walk.deltas.has(version));
  if (lost !== undefined) throw new UnreadableValueError(`the lane of checkpoint version ${lost} is missing`);
  return walk;
}

interface Frame {
  readonly lane: number;
  readonly span: StateSpan;
  readonly records: readonly OrderedRecord[];
  readonly children: number[];
  readonly last: number;
  at: number;
}

export class KeptStates {
  /** The records from the previous kept checkpoint to each kept checkpoint, inclusive, by version. */
  readonly deltas = new Map<number, readonly AgentRecord[]>();
  /** The state that a lane inherits for its first kept checkpoint, by lane. */
  readonly keeps = new Map<number, LaneRecord["keep"]>();
  readonly outputs = new Map<number, StoredValue>();
  readonly #index: LogProjection;
  readonly #kept: ReadonlySet<number>;
  readonly #children = new Map<number, number[]>();
  readonly #last = new Map<number, number>();
  readonly #roots: number[] = [];
  readonly #frames: Frame[] = [];

  constructor(index: LogProjection, kept: ReadonlySet<number>) {
    this.#index = index;
    this.#kept = kept;
    for (const { record } of index.lanes.values()) this.#addLane(record);
    for (const { version, order, record } of index.checkpoints.values())
      if (kept.has(version) || record.status) this.#last.set(record.lane, order);
    // Lanes follow the lanes from which they start.
    for (const { record } of [...index.lanes.values()].reverse()) this.#addNeeded(record);
  }

  *steps(): Generator<number> {
    for (const root of this.#roots) {
      this.#enter(root, new StateSpan());
      yield* this.#follow();
    }
  }

  *#follow(): Generator<number> {
    for (let frame = this.#frames.at(-1); frame; frame = this.#frames.at(-1)) {
      const child = frame.children.pop();
      const next = frame.records[frame.at];
      const isOver = next === undefined || next.order > frame.last;
      // The last lane that starts here takes over the state. Earlier lanes get copies.
      const isLast = isOver && frame.children.length === 0;
      if (isLast) this.#frames.pop();
      if (child !== undefined) this.#enter(child, isLast ? frame.span : frame.span.fork());
      else if (!isOver) this.#pass(frame, next);
      yield child === undefined || isLast ? bytesOfStep : bytesOfStep * (1 + frame.span.copied);
    }
  }

  #addLane(record: LaneRecord): void {
    const from = originOf(record);
    if (from === undefined || !this.#index.checkpoints.has(from)) this.#roots.push(record.lane);
    else if (this.#children.has(from)) this.#children.get(from)?.push(record.lane);
    else this.#children.set(from, [record.lane]);
  }

  #addNeeded(record: LaneRecord): void {
    const from = originOf(record);
    const point = from === undefined ? undefined : this.#index.checkpoints.get(from);
    if (!point || !this.#last.has(record.lane)) return;
    const { lane } = point.record;
    this.#last.set(lane, Math.max(point.order, this.#last.get(lane) ?? -1));
  }

  #enter(lane: number, span: StateSpan): void {
    span.beginLane(this.#index.lanes.get(lane)?.record.keep ?? "nothing");
    const records = this.#index.laneRecords.get(lane) ?? [];
    this.#frames.push({ lane, span, records, children: [], last: this.#last.get(lane) ?? -1, at: 0 });
  }

  #pass(frame: Frame, ordered: OrderedRecord): void {
    frame.at++;
    const record = recordByValue(this.#index, ordered);
    frame.span.add(record, ordered.order);
    if (record.kind !== "checkpoint") return;
    this.#reach(frame, record);
    frame.children.push(...(this.#children.get(record.version) ?? []).filter((lane) => this.#last.has(lane)));
  }

  #reach({ lane, span }: Frame, record: CheckpointRecord): void {
    const { version, status, input } = record;
    if (!this.#kept.has(version)) {
      if (status === "completed") this.outputs.set(version, span.valueOf(input));
      return;
    }
    if (!this.keeps.has(lane)) this.keeps.set(lane, span.keep);
    this.deltas.set(version, [...span.takeDelta(lane), record]);
  }
}

/** The cost of a step: reading this number of bytes takes as long. */
const bytesOfStep = 256;
