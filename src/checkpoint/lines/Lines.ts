import { addToGroup } from "../../internal/addToGroup.ts";
import type { LanePlace, LaneRecord, CheckpointRecord } from "../records/lineRecords.ts";

export interface NestedLine {
  readonly place: LanePlace;
  readonly first: number;
  readonly lane: number;
  readonly lanes: readonly (readonly [lane: number, begun: number])[];
  readonly begun: number;
  /** The order of the checkpoint that ended the branch or sub-agent. `undefined` while the branch is open. */
  readonly closed?: number;
}

type Mutable<Value> = { -readonly [Key in keyof Value]: Value[Key] };

const none: readonly NestedLine[] = [];

export function isOpenAt({ begun, closed = Infinity }: NestedLine, order: number): boolean {
  return begun <= order && (closed > order || closed === Infinity);
}

/** Returns the newest lane of a branch or sub-agent that started at or before an order, a record number of the log. */
export function laneAt({ lanes }: NestedLine, order: number): number | undefined {
  return lanes.findLast(([, begun]) => begun <= order)?.[0];
}

/** The lines of a log: the run, its branches and its sub-agents. Adding a record takes time only for its changes. */
export class Lines {
  mainLane = 0;
  readonly #byPlace = new Map<string, Mutable<NestedLine>>();
  readonly #byLane = new Map<number, NestedLine>();
  readonly #children = new Map<number, NestedLine[]>();
  readonly #unclosed = new Map<number, Set<Mutable<NestedLine>>>();
  readonly #byFork = new Map<number, NestedLine[]>();
  readonly #bases = new Map<number, number>();

  addLane({ lane, place }: LaneRecord, order: number): void {
    if (place === undefined) this.mainLane = lane;
    else this.#byLane.set(lane, this.#lineAt(place, lane, order));
  }

  /** Closes the branches and sub-agents of a lane, unless the checkpoint belongs to the node that started them. */
  addCheckpoint({ lane, version, visit }: CheckpointRecord, order: number): void {
    const base = visit?.[0] ?? version;
    if (base === (this.#bases.get(lane) ?? -lane)) return;
    this.#bases.set(lane, base);
    for (const line of this.#unclosed.get(lane) ?? none) (line as Mutable<NestedLine>).closed = order;
    this.#unclosed.delete(lane);
  }

  nestedLine(lane: number): NestedLine | undefined {
    return this.#byLane.get(lane);
  }

  /** Yields the branches and sub-agents that contain a lane, innermost first. */
  *around(lane: number): Generator<NestedLine> {
    let at = lane;
    // A valid branch has a higher lane than its parent. In a forged log, this check prevents an endless loop.
    for (let line = this.#byLane.get(at); line && line.place.parent < at; line = this.#byLane.get(at)) {
      yield line;
      at = line.place.parent;
    }
  }

  lineOf(place: LanePlace): NestedLine | undefined {
    return this.#byPlace.get(keyOf(place));
  }

  childrenOf(lane: number): readonly NestedLine[] {
    return this.#children.get(lane) ?? none;
  }

  branchesOf(parallelStart: number): readonly NestedLine[] {
    return this.#byFork.get(parallelStart) ?? none;
  }

  /** Returns the version of the checkpoint at which the open branches of a lane started. */
  openForkOn(lane: number): number | undefined {
    for (const line of this.#unclosed.get(lane) ?? none) if ("fork" in line.place) return line.place.fork;
    return undefined;
  }

  isOpen(lane: number): boolean {
    let at = lane;
    for (let line = this.#byLane.get(at); line !== undefined; line = this.#byLane.get(at)) {
      const { parent } = line.place;
      // A valid branch has a higher lane than its parent. In a forged log, this check prevents an endless loop.
      if (line.lane !== at || line.closed !== undefined || parent >= at) return false;
      at = parent;
    }
    return at === this.mainLane && at !== 0;
  }

  get hasNested(): boolean {
    return (this.#unclosed.get(this.mainLane)?.size ?? 0) > 0;
  }

  /** The lanes of the run and its open branches and sub-agents. Each lane follows the lane that contains it. */
  get openLanes(): readonly number[] {
    const open = this.mainLane === 0 ? [] : [this.mainLane];
    for (const parent of open)
      for (const { lane, place } of this.#unclosed.get(parent) ?? none) if (place.parent < lane) open.push(lane);
    return open;
  }

  #lineAt(place: LanePlace, lane: number, order: number): NestedLine {
    const known = this.#byPlace.get(keyOf(place));
    if (known) {
      known.lane = lane;
      (known.lanes as [number, number][]).push([lane, order]);
      return known;
    }
    const line = { place, first: lane, lane, lanes: [[lane, order] as const], begun: order };
    this.#byPlace.set(keyOf(place), line);
    addToGroup(this.#children, place.parent, line);
    if ("fork" in place) addToGroup(this.#byFork, place.fork, line);
    const unclosed = this.#unclosed.get(place.parent);
    if (unclosed) unclosed.add(line);
    else this.#unclosed.set(place.parent, new Set([line]));
    return line;
  }
}

function keyOf(place: LanePlace): string {
  return "fork" in place ? `${place.parent} ${place.fork} ${place.branch}` : `${place.parent}:${place.call}`;
}
