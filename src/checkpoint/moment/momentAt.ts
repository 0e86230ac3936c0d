import type { NestedLine } from "../lines/Lines.ts";
import type { CheckpointPoint } from "../state/CheckpointPoint.ts";
import type { LogProjection } from "../state/LogProjection.ts";

/** A line as it stood at a moment. */
export interface LineAt {
  /** The newest lane of the line at that moment. */
  readonly lane: number;
  /** The line's newest checkpoint at that moment. `undefined`: it had none. */
  readonly point: CheckpointPoint | undefined;
  /** Orders the last record of the line that counts, among all records of the log. `Infinity`: all count. */
  readonly upTo: number;
}

/** Every line of an agent as it stood at a moment. */
export interface Moment {
  /** The main line first, then each after the line that it is nested in. Empty: the agent had no line yet. */
  readonly lines: readonly LineAt[];
  /** The line of the checkpoint that names the moment. Without such a checkpoint it is the main line. */
  readonly own: LineAt | undefined;
}

/**
 * The moment that a checkpoint names: every line that was open when the checkpoint was made, as it stood then. The line of the
 * checkpoint stands at the checkpoint. Every other line stands at its newest checkpoint, with what its node had recorded until
 * then. Lines that were joined or that ended since then are among them.
 *
 * A rollback that was open at the moment has not changed its line yet. At the head, such a line is at the target of the
 * rollback: the rollback cannot be taken back.
 *
 * @param target a checkpoint of any line. Default: the head, with what its nodes did since their newest checkpoints.
 */
export function momentAt(index: LogProjection, target?: CheckpointPoint): Moment {
  const goesBack = target ?? index.checkpoints.get(index.rollback?.target ?? -1);
  const lanes = new Map(goesBack ? lanesAround(index, goesBack.record.lane) : []);
  const way = new Moments(index, lanes, goesBack, target?.order ?? Infinity);
  const main = target ? (lanes.get(undefined) ?? 0) : index.lines.mainLane;
  const lines = main === 0 ? [] : [...way.from(main)];
  const own = lines.find(({ point }) => point !== undefined && point === target);
  return { lines, own: own ?? lines[0] };
}

/** By the line of a lane and of each line around it, the lane itself, and the one that it is nested in. */
function lanesAround({ lines }: LogProjection, lane: number): [line: NestedLine | undefined, lane: number][] {
  const line = lines.nestedLine(lane);
  if (!line || line.place.parent >= lane) return [[undefined, lane]];
  return [[line, lane], ...lanesAround({ lines } as LogProjection, line.place.parent)];
}

class Moments {
  readonly #index: LogProjection;
  /** The lane of each line around the target. */
  readonly #lanes: ReadonlyMap<NestedLine | undefined, number>;
  readonly #target: CheckpointPoint | undefined;
  readonly #upTo: number;

  constructor(
    index: LogProjection,
    lanes: ReadonlyMap<NestedLine | undefined, number>,
    target: CheckpointPoint | undefined,
    upTo: number,
  ) {
    this.#index = index;
    this.#lanes = lanes;
    this.#target = target;
    this.#upTo = upTo;
  }

  /** The line of a lane, and those that were nested in it. */
  *from(lane: number): Generator<LineAt> {
    const target = this.#target;
    if (target && this.#isTargets(lane)) {
      yield { lane: target.record.lane, point: target, upTo: target.order };
      // What an open rollback goes back to has no lines within.
      if (this.#upTo === Infinity) return;
    } else yield { lane, point: this.#newestOn(lane), upTo: this.#upTo };
    for (const line of this.#index.lines.childrenOf(lane)) {
      const within = this.#isOpen(line) ? this.#laneOf(line) : undefined;
      if (within !== undefined && within > lane) yield* this.from(within);
    }
  }

  #isTargets(lane: number): boolean {
    const { lines } = this.#index;
    return this.#target !== undefined && lines.nestedLine(lane) === lines.nestedLine(this.#target.record.lane);
  }

  #isOpen({ begun, closed = Infinity }: NestedLine): boolean {
    return begun <= this.#upTo && (closed > this.#upTo || closed === Infinity);
  }

  #laneOf(line: NestedLine): number | undefined {
    return this.#lanes.get(line) ?? line.lanes.findLast(([, begun]) => begun <= this.#upTo)?.[0];
  }

  #newestOn(lane: number): CheckpointPoint | undefined {
    const { laneRecords, checkpoints, base } = this.#index;
    if (this.#upTo === Infinity) return this.#index.latestOf(lane);
    const records = laneRecords.get(lane) ?? [];
    const found = records.findLast(({ record, order }) => record.kind === "checkpoint" && order <= this.#upTo)?.record;
    if (found?.kind === "checkpoint") return checkpoints.get(found.version);
    return base?.state.lane === lane ? base.state.checkpoint : undefined;
  }
}
