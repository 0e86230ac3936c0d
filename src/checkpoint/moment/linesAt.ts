import { latestAt } from "../data/checkpointData.ts";
import { isOpenAt, laneAt, type NestedLine } from "../lines/Lines.ts";
import type { CheckpointPoint } from "../records/lineRecords.ts";
import type { LogProjection } from "../state/LogProjection.ts";

export interface LineAt {
  readonly lane: number;
  readonly point: CheckpointPoint | undefined;
  /** The order of the last record to include, which is its number in the log. `Infinity` includes all. */
  readonly upTo: number;
}

export interface LinesAt {
  readonly lines: readonly LineAt[];
  readonly own: LineAt | undefined;
}

/**
 * Returns the run, branches and sub-agents that were open when a checkpoint was made, each with its newest checkpoint
 * at that time. Includes the later records of each node, except for the node of the given checkpoint.
 *
 * The result ignores a rollback that was open at that time. Without a checkpoint, the target of an open rollback is the
 * current checkpoint, because the rollback can only be completed.
 *
 * @param target - the checkpoint. Defaults to the head.
 */
export function linesAt(index: LogProjection, target?: CheckpointPoint): LinesAt {
  const goesBack = target ?? index.checkpoints.get(index.rollback?.target ?? -1);
  const lanes = new Map(goesBack ? lanesAround(index, goesBack.record.lane) : []);
  const way = { lanes, target: goesBack, upTo: target ? endOfMove(index, target) : Infinity };
  const main = target ? (lanes.get(undefined) ?? 0) : index.lines.mainLane;
  const lines = main === 0 ? [] : [...linesFrom(index, main, way)];
  const own = lines.find(({ point }) => point !== undefined && point === target);
  return { lines, own: own ?? lines[0] };
}

/** Returns the order of the last checkpoint in the append of a move, because a move can restart or migrate all lines. */
export function endOfMove(
  { checkpoints }: LogProjection,
  { order, position, record: { move } }: CheckpointPoint,
): number {
  const own = move ? [...checkpoints.values()].findLast((each) => each.position === position) : undefined;
  return own?.order ?? order;
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
    yield { lane: target.record.lane, point: target, upTo: upTo === Infinity ? target.order : upTo };
    // At the target of an open rollback, no branch or sub-agent runs.
    if (upTo === Infinity) return;
  } else yield { lane, point: latestAt(index, lane, upTo), upTo };
  for (const line of lines.childrenOf(lane)) {
    const within = isOpenAt(line, upTo) ? (lanes.get(line) ?? laneAt(line, upTo)) : undefined;
    if (within !== undefined && within > lane) yield* linesFrom(index, within, way);
  }
}

/** Returns the checkpoint with this id or name. If two checkpoints have the same id, returns the later one. */
export function findPoint(index: LogProjection, id: string): CheckpointPoint | undefined {
  const known = index.byId(id);
  if (known) return known;
  const point = index.checkpoints.get(Number(id.slice(id.indexOf("-") + 1)));
  return point && id === `${point.generation}-${point.version}` ? point : undefined;
}
