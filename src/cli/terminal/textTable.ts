import truncatedWidth from "fast-string-truncated-width";

const gap = 2;
/** The minimum widths of value columns and titles, in terminal columns. */
const narrowest = 8;
const shortestTitle = 3;
const longest = 2_000;
/** Without a terminal, the maximum width of each column but the last. One long id would widen every row. */
const widestInFile = 60;

/** A piece of a cell with harmless text and its style. */
export interface Piece {
  readonly text: string;
  /** Adds terminal styles to the text or a prefix of it. */
  readonly write: (text: string) => string;
}

export type Cell = readonly Piece[];

/**
 * Formats rows as aligned lines. Cuts the widest cells, so that each line fits into `columns`. Without `columns`, cuts
 * the cells of all columns except the last to 60 characters.
 */
export function textTable(head: readonly Cell[], rows: readonly (readonly Cell[])[], columns?: number): string {
  const shown = rows.map((row) => row.map((cell) => cutTo(cell, longest)));
  const contents = head.map((_title, at) => shown.reduce((widest, row) => Math.max(widest, widthOf(row[at] ?? [])), 0));
  const widths =
    columns === undefined ? limited(head.map(widthOf), contents) : fitted(head.map(widthOf), contents, columns);
  return [head, ...shown].map((row) => lineOf(row, widths)).join("\n");
}

function lineOf(row: readonly Cell[], widths: readonly number[]): string {
  return row
    .map((cell, at) => {
      const shown = cutTo(cell, widths[at] ?? longest);
      const space = at < row.length - 1 ? (widths[at] ?? 0) + gap - widthOf(shown) : 0;
      return shown.map(({ text, write }) => write(text)).join("") + " ".repeat(space);
    })
    .join("")
    .trimEnd();
}

function widthOf(cell: Cell): number {
  return cell.reduce((sum, { text }) => sum + textWidth(text), 0);
}

/** Cuts a cell that is too wide and marks the cut. */
function cutTo(cell: Cell, width: number): Cell {
  // Most characters take one column, so text far beyond the width is not measured.
  const looked = cell.map(({ text, write }) => ({ text: text.slice(0, 4 * width + 4), write }));
  const isWhole = looked.every(({ text }, at) => text.length === cell[at]?.text.length);
  if (isWhole && widthOf(looked) <= width) return cell;
  const pieces: Piece[] = [];
  let left = width - 1;
  for (const { text, write } of looked) {
    const begin = beginning(text, left);
    pieces.push({ text: begin, write });
    left -= textWidth(begin);
    if (begin.length < text.length) break;
  }
  return [...pieces, { text: "…", write: pieces.at(-1)?.write ?? String }];
}

/** Returns the longest prefix of a text within the width. */
export function beginning(text: string, width: number): string {
  let { index } = truncatedWidth(text, { limit: width });
  // The library may leave half of a surrogate pair, and returns too long texts for some emoji.
  while (index > 0 && (textWidth(text.slice(0, index)) > width || /\p{Surrogate}$/u.test(text.slice(0, index))))
    index--;
  return text.slice(0, index);
}

function textWidth(text: string): number {
  return truncatedWidth(text).width;
}

/** Returns the widths without a terminal. */
function limited(titles: readonly number[], contents: readonly number[]): readonly number[] {
  return titles.map((title, at) => {
    const width = Math.max(title, contents[at] ?? 0);
    return at < titles.length - 1 ? Math.min(width, widestInFile) : width;
  });
}

/** Shrinks titles that are wider than their values, then the widest columns. */
function fitted(titles: readonly number[], contents: readonly number[], columns: number): readonly number[] {
  const widths = titles.map((title, at) => Math.max(title, contents[at] ?? 0));
  const most = columns - gap * (widths.length - 1);
  for (let total = widths.reduce((sum, width) => sum + width, 0); total > most; total--) {
    const spare = widths.map((width, at) => width - Math.max(shortestTitle, contents[at] ?? 0));
    const widest = widths.indexOf(Math.max(...widths));
    const isSpare = Math.max(...spare) > 0;
    if (!isSpare && (widths[widest] ?? 0) <= narrowest) break;
    const at = isSpare ? spare.indexOf(Math.max(...spare)) : widest;
    widths[at] = (widths[at] ?? 0) - 1;
  }
  return widths;
}
