import { latestAt } from "../data/checkpointData.ts";
import { isOpenAt, laneAt, type NestedLine } from "../lines/Lines.ts";
import type { CheckpointPoint } from "../records/lineRecords.ts";
import type { LogProjection } from "../state/LogProjection.ts";

export interface LineAt {
  readonly lane: number;
  readonly point: CheckpointPoint | undefined;
  /** The order of the last record of the line that counts. `Infinity` if all count. */
  readonly upTo: number;
}

export interface LinesAt {
  readonly lines: readonly LineAt[];
  readonly own: LineAt | undefined;
}

/**
 * Returns the lines that were open when a checkpoint was made. The line of the checkpoint is positioned at the
 * checkpoint. Every other line is positioned at its newest checkpoint at that time, with the later records of its node.
 * Lines that have been joined or have finished since then are included.
 *
 * If a rollback was open at that time, the position of its line ignores the rollback. At the head, this line is
 * positioned at the target of the rollback, because the rollback can only be completed.
 *
 * @param target A checkpoint of any line. Defaults to the head, including the records after its checkpoints.
 */
export function linesAt(index: LogProjection, target?: CheckpointPoint): LinesAt {
  const goesBack = target ?? index.checkpoints.get(index.rollback?.target ?? -1);
  const lanes = new Map(goesBack ? lanesAround(index, goesBack.record.lane) : []);
  const way = { lanes, target: goesBack, upTo: target?.order ?? Infinity };
  const main = target ? (lanes.get(undefined) ?? 0) : index.lines.mainLane;
  const lines = main === 0 ? [] : [...linesFrom(index, main, way)];
  const own = lines.find(({ point }) => point !== undefined && point === target);
  return { lines, own: own ?? lines[0] };
}

function lanesAround({ lines }: LogProjection, lane: number): [line: NestedLine | undefined, lane: number][] {
  const around = [...lines.around(lane)];
  const lanes = [lane, ...around.map(({ place }) => place.parent)];
  return lanes.map((each, at) => [around[at], each]);
}

interface Way {
  readonly lanes: ReadonlyMap<NestedLine | undefined, number>;
  readonly target: CheckpointPoint | undefined;
  readonly upTo: number;
}

function* linesFrom(index: LogProjection, lane: number, way: Way): Generator<LineAt> {
  const { lanes, target, upTo } = way;
  const { lines } = index;
  if (target && lines.nestedLine(lane) === lines.nestedLine(target.record.lane)) {
    yield { lane: target.record.lane, point: target, upTo: target.order };
    // The target of an open rollback has no nested lines.
    if (upTo === Infinity) return;
  } else yield { lane, point: latestAt(index, lane, upTo), upTo };
  for (const line of lines.childrenOf(lane)) {
    const within = isOpenAt(line, upTo) ? (lanes.get(line) ?? laneAt(line, upTo)) : undefined;
    if (within !== undefined && within > lane) yield* linesFrom(index, within, way);
  }
}

/** Returns the checkpoint with this id or name. A given id that exists twice finds the later checkpoint. */
export function findPoint(index: LogProjection, id: string): CheckpointPoint | undefined {
  const known = index.byId(id);
  if (known) return known;
  const point = index.checkpoints.get(Number(id.slice(id.indexOf("-") + 1)));
  return point && id === `${point.generation}-${point.version}` ? point : undefined;
}
