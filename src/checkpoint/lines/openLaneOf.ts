import { type LaneOrigins, lanesOfLine } from "./lanesOfLine.ts";
import type { Lines } from "./Lines.ts";

/** The newest lane of the open line that a lane belongs to, also if the line began anew since; `undefined`: it is not open. */
export function openLaneOf(index: LaneOrigins & { readonly lines: Lines }, lane: number): number | undefined {
  const { lines } = index;
  const newest = lines.nestedLine(lane)?.lane ?? lines.mainLane;
  if (lines.isOpen(newest)) return newest;
  return lines.openLanes.find((open) => lanesOfLine(index, open).has(lane));
}
