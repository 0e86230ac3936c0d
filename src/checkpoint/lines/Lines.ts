import type { CheckpointRecord } from "../records/CheckpointRecord.ts";
import type { LanePlace, LaneRecord } from "../records/lineRecords.ts";

/** A line that is nested in another: a branch or a sub-agent. */
export interface NestedLine {
  readonly place: LanePlace;
  /** The lane that it began on. */
  readonly first: number;
  /** The newest lane of its place. */
  readonly lane: number;
  /** Every lane of its place with the order at which it begins, oldest first. */
  readonly lanes: readonly (readonly [lane: number, begun: number])[];
  /** Orders its beginning among all records of the log. */
  readonly begun: number;
  /** Orders the checkpoint of its parent's lane that closed it. Absent: there is none. */
  readonly closed?: number;
}

type Mutable<Value> = { -readonly [Key in keyof Value]: Value[Key] };

const none: readonly NestedLine[] = [];

/** Which lines a log has, how they are nested, and which of them are open. A record costs what it changes. */
export class Lines {
  #mainLane = 0;
  readonly #byPlace = new Map<string, Mutable<NestedLine>>();
  readonly #byLane = new Map<number, NestedLine>();
  /** By the lane that they are nested in, in the order in which they began. */
  readonly #children = new Map<number, NestedLine[]>();
  /** Those of them that no checkpoint of this lane has closed. */
  readonly #unclosed = new Map<number, Set<Mutable<NestedLine>>>();
  readonly #byFork = new Map<number, NestedLine[]>();
  /** The visit that follows the newest checkpoint of a lane, by the version that it is counted from. */
  readonly #bases = new Map<number, number>();

  /** The newest lane of the main line; 0 while there is none. */
  get mainLane(): number {
    return this.#mainLane;
  }

  addLane({ lane, place }: LaneRecord, order: number): void {
    if (place === undefined) this.#mainLane = lane;
    else this.#byLane.set(lane, this.#lineAt(place, lane, order));
  }

  /** A checkpoint closes the lines that are nested in its lane, unless it continues the visit in which they began. */
  addCheckpoint({ lane, version, visit }: CheckpointRecord, order: number): void {
    const base = visit?.[0] ?? version;
    if (base === this.#baseOf(lane)) return;
    this.#bases.set(lane, base);
    for (const line of this.#unclosed.get(lane) ?? none) (line as Mutable<NestedLine>).closed = order;
    this.#unclosed.delete(lane);
  }

  /** The nested line that a lane belongs to; `undefined` for a lane of the main line. */
  nestedLine(lane: number): NestedLine | undefined {
    return this.#byLane.get(lane);
  }

  /** The line of a place; `undefined` while none has begun there. */
  lineOf(place: LanePlace): NestedLine | undefined {
    return this.#byPlace.get(keyOf(place));
  }

  /** The lines that were nested in a lane, closed ones included, in the order in which they began. */
  childrenOf(lane: number): readonly NestedLine[] {
    return this.#children.get(lane) ?? none;
  }

  /** The branches of a fork, by its version, in the order in which they began. */
  branchesOf(fork: number): readonly NestedLine[] {
    return this.#byFork.get(fork) ?? none;
  }

  /**
   * The version of the fork whose branches are open on a lane; `undefined`: none is. A migration adds a checkpoint to the visit
   * in which they began, and after a fork or an edit that visit is counted from a checkpoint of another lane.
   */
  openForkOn(lane: number): number | undefined {
    for (const line of this.#unclosed.get(lane) ?? none) if ("fork" in line.place) return line.place.fork;
    return undefined;
  }

  /** Whether a lane is that of an open line. */
  isOpen(lane: number): boolean {
    let at = lane;
    for (let line = this.#byLane.get(at); line !== undefined; line = this.#byLane.get(at)) {
      const { parent } = line.place;
      // A line is nested in an earlier one, unless the log is forged.
      if (line.lane !== at || line.closed !== undefined || parent >= at) return false;
      at = parent;
    }
    return at === this.#mainLane && at !== 0;
  }

  /** Whether a line is open that is nested in the main line. */
  get hasNested(): boolean {
    return (this.#unclosed.get(this.#mainLane)?.size ?? 0) > 0;
  }

  /** The lanes of the open lines: that of the main line first, then each before those that are nested in it. */
  get openLanes(): readonly number[] {
    const open = this.#mainLane === 0 ? [] : [this.#mainLane];
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
    add(this.#children, place.parent, line);
    if ("fork" in place) add(this.#byFork, place.fork, line);
    const unclosed = this.#unclosed.get(place.parent);
    if (unclosed) unclosed.add(line);
    else this.#unclosed.set(place.parent, new Set([line]));
    return line;
  }

  /** The first visit of a lane without a checkpoint is counted from its number. */
  #baseOf(lane: number): number {
    return this.#bases.get(lane) ?? -lane;
  }
}

function keyOf(place: LanePlace): string {
  return "fork" in place ? `${place.parent} ${place.fork} ${place.branch}` : `${place.parent}:${place.call}`;
}

function add(lines: Map<number, NestedLine[]>, key: number, line: NestedLine): void {
  const known = lines.get(key);
  if (known) known.push(line);
  else lines.set(key, [line]);
}
