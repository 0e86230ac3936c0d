import { type LaneOrigins, lanesOfLine } from "./lanesOfLine.ts";
import type { Lines } from "./Lines.ts";

/** Returns the newest lane of a line, even if the line was restarted. `undefined` if the line is closed. */
export function openLaneOf(index: LaneOrigins & { readonly lines: Lines }, lane: number): number | undefined {
  const { lines } = index;
  const newest = lines.nestedLine(lane)?.lane ?? lines.mainLane;
  if (lines.isOpen(newest)) return newest;
  return lines.openLanes.find((open) => lanesOfLine(index, open).has(lane));
}
