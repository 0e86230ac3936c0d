import { addToGroup } from "../../internal/addToGroup.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import type { Pace } from "../../internal/nextTurn.ts";
import type { AgentRecord } from "../records/AgentRecord.ts";
import { type LaneRecord, originOf, type CheckpointRecord } from "../records/lineRecords.ts";
import { recordByValue } from "../state/foldTo.ts";
import type { LogProjection, OrderedRecord } from "../state/LogProjection.ts";
import type { StoredValue } from "../values/valueCodec.ts";
import { StateSpan } from "./StateSpan.ts";

/** Computes the changes between kept checkpoints. @throws UnreadableValueError if a lane is missing or in a cycle */
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
  /** By version of a kept checkpoint: the records since the previous kept checkpoint, and the checkpoint itself. */
  readonly deltas = new Map<number, readonly AgentRecord[]>();
  /** By lane: the part of the state that the lane inherits before its first kept checkpoint. */
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
    // Runs from the last lane to the first, because each lane follows the lane from which it starts.
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
      // The last lane that starts at the checkpoint reuses the state. Each earlier lane gets a copy.
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
    else addToGroup(this.#children, from, record.lane);
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

/** The cost of a step, as the number of bytes that could be read in the same time. */
const bytesOfStep = 256;
