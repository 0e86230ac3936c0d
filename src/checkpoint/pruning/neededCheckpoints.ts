import { addToGroup } from "../../internal/addToGroup.ts";
import { countFirst } from "../../internal/countFirst.ts";
import type { NestedLine } from "../lines/Lines.ts";
import { parallelStartOf, type CheckpointPoint } from "../records/lineRecords.ts";
import { visitAt } from "../state/AgentState.ts";
import { mergedAt } from "../state/BranchChanges.ts";
import type { LogProjection } from "../state/LogProjection.ts";

/** Returns the wanted versions, and the versions that these need, such as the start and end of a branch. */
export function neededCheckpoints(index: LogProjection, wanted: Iterable<number>): ReadonlySet<number> {
  return new Needed(index).with(wanted);
}

export function headsOf(index: LogProjection): readonly CheckpointPoint[] {
  return index.lines.openLanes.flatMap((lane) => index.latestOf(lane) ?? []);
}

class Needed {
  readonly #index: LogProjection;
  readonly #versions = new Set<number>();
  readonly #lines = new Set<NestedLine>();
  readonly #parallelStarts = new Set<number>();
  readonly #byLane = new Map<number, CheckpointPoint[]>();

  constructor(index: LogProjection) {
    this.#index = index;
    for (const point of index.checkpoints.values()) addToGroup(this.#byLane, point.record.lane, point);
  }

  with(wanted: Iterable<number>): ReadonlySet<number> {
    for (const version of wanted) this.#versions.add(version);
    // A `Set` can grow while it is iterated, so this loop also visits the added versions.
    for (const version of this.#versions) {
      const point = this.#index.checkpoints.get(version);
      if (!point) this.#versions.delete(version);
      else for (const needed of this.#neededBy(point)) this.#versions.add(needed);
    }
    return this.#versions;
  }

  *#neededBy(point: CheckpointPoint): Generator<number> {
    const { lane } = point.record;
    const line = this.#index.lines.nestedLine(lane);
    const from = line && this.#index.lanes.get(lane)?.record.from;
    if (from !== undefined) yield from;
    if (line && isNew(this.#lines, line)) yield* this.#around(line);
    const parallelStart = mergedAt(this.#index, point);
    if (parallelStart === undefined) return;
    yield parallelStart;
    if (point.record.joined === undefined) yield visitAt(point)[0];
    if (isNew(this.#parallelStarts, parallelStart)) yield* this.#endsOf(parallelStart);
  }

  *#endsOf(parallelStart: number): Generator<number> {
    for (const { lane } of this.#index.lines.branchesOf(parallelStart)) {
      const end = this.#index.latestOf(lane);
      if (end) yield end.version;
    }
  }

  *#around(line: NestedLine): Generator<number> {
    const points = this.#byLane.get(line.place.parent) ?? [];
    const begun = parallelStartOf(line) ?? lastUpTo(points, line.begun)?.version;
    if (begun !== undefined) yield begun;
    const closing = line.closed === undefined ? undefined : lastUpTo(points, line.closed);
    if (closing) yield closing.version;
  }
}

function isNew<Item>(known: Set<Item>, item: Item): boolean {
  if (known.has(item)) return false;
  known.add(item);
  return true;
}

function lastUpTo(points: readonly CheckpointPoint[], order: number): CheckpointPoint | undefined {
  return points[countFirst(points, (point) => point.order <= order) - 1];
}
