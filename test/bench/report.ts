import type { Contestant } from "./contestants.ts";
import type { Figures } from "./Figures.ts";
import type { Target } from "./targets.ts";
import type { TurnFigures } from "./turns.ts";

/** A contestant's figures; without figures it was left out. */
export interface Row {
  readonly contestant: Contestant;
  readonly figures?: Figures;
  /** What a storage in memory holds on to at the end, on the heap and in buffers outside it. */
  readonly heapBytes?: number;
}

const header = [
  "",
  "save start",
  "save end",
  "÷ floor start",
  "÷ floor end",
  "end ÷ ours",
  "wall ÷ floor",
  "kept ÷ messages",
];

/** A Markdown table: each row's save in milliseconds and as ratios to the floor of its own process, ours, the bytes. */
export function table(rows: readonly Row[], messageBytes: number): string {
  const body = rows.map((row) => cells(row, oursAmong(rows, row.contestant.kind), messageBytes));
  const widths = header.map((title, at) => Math.max(title.length, ...body.map((line) => (line[at] ?? "").length)));
  const rule = widths.map((width, at) => "-".repeat(width - 1) + (at === 0 ? "-" : ":"));
  return [header, rule, ...body]
    .map((line) => `| ${line.map((cell, at) => pad(cell, at, widths[at] ?? 0)).join(" | ")} |`)
    .join("\n");
}

/** A Markdown table: each turn of each conversation. */
export function turnTable(conversations: ReadonlyMap<string, readonly TurnFigures[]>): string {
  const cell = (ms: number | undefined): string => (ms === undefined ? "" : `${number(ms)} ms`);
  const rows = [...conversations].flatMap(([name, figures]) =>
    figures.map(({ turn, hotMs, coldMs, readMs, parseMs }) => [
      name,
      number(turn),
      ...[hotMs, coldMs, readMs, parseMs].map(cell),
    ]),
  );
  const titles = ["", "turn", "same process", "opened anew", "open and read", "parse"];
  return [titles, titles.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

export function targetLine({ name, found, atMost, unit }: Target): string {
  return `${found <= atMost ? "ok  " : "MISS"} ${name}: ${number(found)}${unit} (at most ${atMost}${unit})`;
}

function oursAmong(rows: readonly Row[], kind: Contestant["kind"]): Figures | undefined {
  return rows.find(({ contestant }) => contestant.kind === kind && contestant.name.startsWith("agent-persistence"))
    ?.figures;
}

function cells({ contestant, figures, heapBytes = 0 }: Row, ours: Figures | undefined, messageBytes: number): string[] {
  if (figures === undefined) return [contestant.name, "with --full", "", "", "", "", "", ""];
  const { save, floor } = figures;
  return [
    contestant.name,
    `${number(save.startMs)} ms`,
    `${number(save.endMs)} ms`,
    ratio(save.startMs, floor?.startMs),
    ratio(save.endMs, floor?.endMs),
    ratio(save.endMs, ours?.save.endMs),
    ratio(save.wallMs, floor?.wallMs),
    ratio(figures.diskBytes ?? heapBytes, messageBytes),
  ];
}

function ratio(value: number, base: number | undefined): string {
  return base === undefined ? "" : `${number(value / base)}×`;
}

function number(value: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: value < 1 ? 3 : value < 100 ? 2 : 0 });
}

function pad(cell: string, at: number, width: number): string {
  return at === 0 ? cell.padEnd(width) : cell.padStart(width);
}
