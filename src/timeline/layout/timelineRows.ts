import type { TimelineItem, TimelineStep } from "../data/TimelineData.ts";

export type TimelineRow =
  | { readonly kind: "item"; readonly item: TimelineItem; /** Counts from 1, without gaps. */ readonly number: number }
  | { readonly kind: "gap"; readonly milliseconds: number; readonly key: string };

/** Heights in pixels. They are fixed, so that positions are known before rendering. */
export const heights = { gap: 30, mark: 34, line: 21, head: 30, calls: 33, wait: 50, padding: 10 } as const;

const narrowestCall = 150;

/** The minimum length of a pause that is shown in a row, in milliseconds. */
const shortestGap = 60_000;

/** Returns the rows in order. A pause that is much longer than the others becomes a row. */
export function timelineRows(items: readonly TimelineItem[]): readonly TimelineRow[] {
  const limit = gapLimit(items);
  const rows: TimelineRow[] = [];
  let last: number | undefined;
  for (const [index, item] of items.entries()) {
    const { at, key } = item;
    if (at !== undefined && last !== undefined && at - last >= limit) {
      rows.push({ kind: "gap", milliseconds: at - last, key: `gap ${key}` });
    }
    if (at !== undefined) last = Math.max(at, last ?? at);
    rows.push({ kind: "item", item, number: index + 1 });
  }
  return rows;
}

/** Returns the minimum length of such a pause: ten times the median, but at least a minute. */
function gapLimit(items: readonly TimelineItem[]): number {
  const times = items.flatMap(({ at }) => at ?? []);
  const pauses = times.slice(1).map((at, index) => at - (times[index] ?? at));
  const positive = pauses.filter((pause) => pause > 0).toSorted((a, b) => a - b);
  const middle = positive[Math.floor(positive.length / 2)] ?? 0;
  return Math.max(shortestGap, Math.min(middle * 10, 3_600_000));
}

/** Returns the number of calls that fit side by side in a width in pixels. */
export function callsInLine(width: number): number {
  return Math.max(1, Math.floor(width / narrowestCall));
}

/** Returns the height of a row in pixels. @param inLine The number of calls side by side. */
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

/** The positions of rows in pixels, with which the visible rows are found. */
export class RowOffsets {
  readonly #tops: Float64Array;

  constructor(heights: readonly number[]) {
    this.#tops = new Float64Array(heights.length + 1);
    heights.forEach((height, index) => {
      this.#tops[index + 1] = (this.#tops[index] ?? 0) + height;
    });
  }

  get total(): number {
    return this.#tops.at(-1) ?? 0;
  }

  /** Returns the top of a row. The index after the last row gives the total height. */
  topOf(index: number): number {
    return this.#tops[Math.max(0, Math.min(index, this.#tops.length - 1))] ?? 0;
  }

  heightOf(index: number): number {
    return this.topOf(index + 1) - this.topOf(index);
  }

  rowAt(y: number): number {
    let low = 0;
    let high = Math.max(0, this.#tops.length - 2);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.topOf(middle) <= y) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Returns the first and the last row to render, including some invisible rows on both sides. */
  within(top: number, height: number, more = 6): readonly [first: number, last: number] {
    const last = this.#tops.length - 2;
    return [Math.max(0, this.rowAt(top) - more), Math.min(last, this.rowAt(top + height) + more)];
  }
}
