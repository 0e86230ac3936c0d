import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { linePath } from "../../checkpoint/data/linePath.ts";

interface PlacedVisit {
  readonly lane: number;
  readonly order: number;
}

/**
 * Sorts visits independently of the timing of parallel lines. The visits of a nested line come before the visit of its
 * parent that contains them. Lines of one visit are sorted by branch, or by the start of their call.
 *
 * @param visits - in the order of the log.
 */
export function nestedOrder<Visit extends PlacedVisit>(log: LogProjection, visits: readonly Visit[]): readonly Visit[] {
  const byLine = new Map<number, Visit[]>();
  for (const visit of visits) {
    const line = firstLane(log, visit.lane);
    byLine.set(line, [...(byLine.get(line) ?? []), visit]);
  }
  const nested = new Map<number, number[]>();
  for (const line of byLine.keys()) {
    const parent = parentLine(log, line);
    if (line !== mainLine) nested.set(parent, [...(nested.get(parent) ?? []), line]);
  }
  const sorted = (line: number): readonly Visit[] => {
    const open = (nested.get(line) ?? []).toSorted((one, other) => compareLines(log, one, other));
    return [...(byLine.get(line) ?? []), undefined].flatMap((visit) => {
      const inside = open.filter((each) => visit === undefined || startOf(log, each) < visit.order);
      for (const each of inside) open.splice(open.indexOf(each), 1);
      return [...inside.flatMap(sorted), ...(visit ? [visit] : [])];
    });
  };
  return sorted(mainLine);
}

const mainLine = -1;

/** Identifies a line by its first lane, because a rollback inside a line starts a new lane. */
function firstLane(log: LogProjection, lane: number): number {
  return log.lines.nestedLine(lane)?.first ?? mainLine;
}

function parentLine(log: LogProjection, line: number): number {
  const parent = log.lines.nestedLine(line)?.place.parent;
  return parent === undefined || parent >= line ? mainLine : firstLane(log, parent);
}

function startOf(log: LogProjection, line: number): number {
  return log.lines.nestedLine(line)?.begun ?? -1;
}

function compareLines(log: LogProjection, one: number, other: number): number {
  const [a = "", b = ""] = [linePath(log, one).branch, linePath(log, other).branch];
  return a.localeCompare(b, "en", { numeric: true }) || one - other;
}
