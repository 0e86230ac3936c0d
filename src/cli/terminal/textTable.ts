import Table from "cli-table3";
import { textWidth } from "./textWidth.ts";

const gap = 2;
const narrowest = 8;
const sides = ["top", "bottom", "left", "right", "mid"] as const;
const noBorders = Object.fromEntries([
  ["middle", ""],
  ...sides.flatMap((side) => ["", "-mid", "-left", "-right"].map((end) => [side + end, ""])),
]) as Partial<Record<Table.CharName, string>>;

/** A cell: its text, made harmless, and the same as it is written. */
export interface Cell {
  readonly text: string;
  readonly written: string;
}

/**
 * Rows as aligned lines, without borders.
 *
 * @param columns of the terminal: the widest cells are cut to fit in. Absent: nothing is cut.
 */
export function textTable(head: readonly Cell[], rows: readonly (readonly Cell[])[], columns?: number): string {
  const widths = fitted(
    head.map((cell, at) => Math.max(...[head, ...rows].map((row) => textWidth((row[at] ?? cell).text)))),
    columns,
  );
  const table = new Table({
    chars: noBorders,
    style: { head: [], border: [], "padding-left": 0, "padding-right": gap, compact: true },
    colWidths: widths.map((width) => width + gap),
  });
  table.push(...[head, ...rows].map((row) => row.map(({ written }) => written)));
  return table
    .toString()
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n");
}

/** Takes what is missing from the widest column, as often as it takes. */
function fitted(wanted: readonly number[], columns: number = Infinity): readonly number[] {
  const widths = [...wanted];
  const most = columns - gap * widths.length;
  for (let total = widths.reduce((sum, width) => sum + width, 0); total > most; total--) {
    const widest = widths.indexOf(Math.max(...widths));
    if ((widths[widest] ?? 0) <= narrowest) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}
