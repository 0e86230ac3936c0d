import type { TimelineItem, TimelineStep } from "../data/TimelineData.ts";

/** A row of the list: an item, or a stretch of time in which nothing happened. */
export type TimelineRow =
  | { readonly kind: "item"; readonly item: TimelineItem; readonly height: number }
  | { readonly kind: "gap"; readonly milliseconds: number; readonly height: number; readonly key: string };

/** Heights in pixels. They follow from the data alone, so that a row's place is known before it is drawn. */
export const heights = { gap: 30, mark: 34, line: 21, head: 30, calls: 33, wait: 50, padding: 10 } as const;

/** Below this, in milliseconds, no pause is worth a row. */
const shortestGap = 60_000;

/** The rows of a list, in order. A pause that is long among the others becomes a row of its own. */
export function timelineRows(items: readonly TimelineItem[]): readonly TimelineRow[] {
  const limit = gapLimit(items);
  const rows: TimelineRow[] = [];
  let last: number | undefined;
  for (const item of items) {
    const { at, key } = item;
    if (at !== undefined && last !== undefined && at - last >= limit) {
      rows.push({ kind: "gap", milliseconds: at - last, height: heights.gap, key: `gap ${key}` });
    }
    if (at !== undefined) last = Math.max(at, last ?? at);
    rows.push({ kind: "item", item, height: heightOf(item) });
  }
  return rows;
}

/** A pause is long from ten times the middle one on, and never below a minute. */
function gapLimit(items: readonly TimelineItem[]): number {
  const times = items.flatMap(({ at }) => at ?? []);
  const pauses = times.slice(1).map((at, index) => at - (times[index] ?? at));
  const positive = pauses.filter((pause) => pause > 0).toSorted((a, b) => a - b);
  const middle = positive[Math.floor(positive.length / 2)] ?? 0;
  return Math.max(shortestGap, Math.min(middle * 10, 3_600_000));
}

function heightOf(item: TimelineItem): number {
  return item.kind === "step" ? heightOfStep(item) : heights.mark;
}

function heightOfStep({ answers, calls, waits, begins, branch }: TimelineStep): number {
  const input = begins && branch === undefined ? 1 : 0;
  const said = input + answers.filter(({ text }) => text !== "").length;
  const { head, line, padding } = heights;
  return head + said * line + calls.length * heights.calls + waits.length * heights.wait + padding;
}
