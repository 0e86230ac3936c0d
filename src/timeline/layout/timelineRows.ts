import type { TimelineItem, TimelineStep } from "../data/TimelineData.ts";

export type TimelineRow =
  | { readonly kind: "item"; readonly item: TimelineItem }
  | { readonly kind: "gap"; readonly milliseconds: number; readonly key: string };

/**
 * Heights in pixels. They depend only on the data and the width, so that the position of a row is known before it is
 * rendered.
 */
export const heights = { gap: 30, mark: 34, line: 21, head: 30, calls: 33, wait: 50, padding: 10 } as const;

/** The minimum width of a call next to others, in pixels. */
const narrowestCall = 150;

/** The minimum pause in milliseconds that gets a row. */
const shortestGap = 60_000;

/** Returns the rows in order. A pause that is long compared with others becomes a row. */
export function timelineRows(items: readonly TimelineItem[]): readonly TimelineRow[] {
  const limit = gapLimit(items);
  const rows: TimelineRow[] = [];
  let last: number | undefined;
  for (const item of items) {
    const { at, key } = item;
    if (at !== undefined && last !== undefined && at - last >= limit) {
      rows.push({ kind: "gap", milliseconds: at - last, key: `gap ${key}` });
    }
    if (at !== undefined) last = Math.max(at, last ?? at);
    rows.push({ kind: "item", item });
  }
  return rows;
}

/** Returns the limit of a long pause: ten times the median, but at least a minute. */
function gapLimit(items: readonly TimelineItem[]): number {
  const times = items.flatMap(({ at }) => at ?? []);
  const pauses = times.slice(1).map((at, index) => at - (times[index] ?? at));
  const positive = pauses.filter((pause) => pause > 0).toSorted((a, b) => a - b);
  const middle = positive[Math.floor(positive.length / 2)] ?? 0;
  return Math.max(shortestGap, Math.min(middle * 10, 3_600_000));
}

/** Returns the number of calls that fit on a line of this width in pixels. */
export function callsInLine(width: number): number {
  return Math.max(1, Math.floor(width / narrowestCall));
}

/** Returns the height of a row in pixels. `inLine` is the number of calls on a line. */
export function heightOfRow(row: TimelineRow, inLine: number): number {
  if (row.kind === "gap") return heights.gap;
  return row.item.kind === "step" ? heightOfStep(row.item, inLine) : heights.mark;
}

function heightOfStep({ answers, calls, waits, begins, branch }: TimelineStep, inLine: number): number {
  const input = begins && branch === undefined ? 1 : 0;
  const said = input + answers.filter(({ text }) => text !== "").length;
  const lines = calls.reduce((sum, group) => sum + Math.ceil(group.length / inLine), 0);
  const { head, line, padding } = heights;
  return head + said * line + lines * heights.calls + waits.length * heights.wait + padding;
}
