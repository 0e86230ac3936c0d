import type { GraphLayout, GraphEdge } from "../../layout/laneColumns.ts";
import { type RowOffsets, heights, type TimelineRow } from "../../layout/timelineRows.ts";
import { stepState, type StepState } from "../../layout/shownItems.ts";
import { GlyphMark, type MarkName } from "./Glyph.tsx";

interface GraphDrawingProps {
  readonly rows: readonly TimelineRow[];
  readonly graph: GraphLayout;
  readonly offsets: RowOffsets;
  readonly first: number;
  readonly last: number;
  readonly head: string | undefined;
}

/** The maximum width in pixels. If there are more columns, they become narrower. */
const widest = 190;

export function graphWidth({ width }: GraphLayout): number {
  return Math.min(widest, 22 + width * 20);
}

export function GraphDrawing({ rows, graph, offsets, first, last, head }: GraphDrawingProps) {
  const top = offsets.topOf(first);
  const height = offsets.topOf(last + 1) - top;
  const width = graphWidth(graph);
  const gap = Math.min(20, (width - 22) / graph.width);
  const x = (column: number): number => 20 + column * gap;
  const y = (row: number): number => offsets.topOf(row) - top + markHeight(rows[row]);
  const seen = graph.edges.filter(({ from, to }) => from.row <= last && first <= to.row);
  return (
    <svg class="graph" width={width} height={height} style={{ top: `${top}px` }} aria-hidden="true">
      {seen.map((edge) => (
        <path
          class={`edge ${edge.kind}${edge.reverted ? " reverted" : ""}`}
          d={pathOf(edge, x, (row) => clamp(y(row), -40, height + 40))}
        />
      ))}
      {seen.map(
        (edge) =>
          edge.kind === "back" && edge.from.row >= first && <Arrow x={x(edge.from.column)} y={y(edge.from.row)} />,
      )}
      {rows.slice(first, last + 1).map((row, index) => (
        <RowMark row={row} x={x(graph.columns[first + index] ?? 0)} y={y(first + index)} head={head} />
      ))}
    </svg>
  );
}

/** Returns the distance of a row's mark from the top of the row in pixels. */
function markHeight(row: TimelineRow | undefined): number {
  if (row?.kind === "item" && row.item.kind === "step") return heights.padding / 2 + heights.head / 2;
  return (row?.kind === "gap" ? heights.gap : heights.mark) / 2;
}

/** Returns the path of an edge: from the upper mark into its column, straight down, and to the lower mark. */
function pathOf(edge: GraphEdge, x: (column: number) => number, y: (row: number) => number): string {
  const [fromX, fromY, toX, toY] = [x(edge.from.column), y(edge.from.row), x(edge.to.column), y(edge.to.row)];
  const middle = x(edge.column);
  const bend = Math.min(20, (toY - fromY) / 2);
  if (edge.kind === "back") {
    const start = `M${toX + 9} ${toY}C${middle} ${toY} ${middle} ${toY} ${middle} ${toY - bend}`;
    return `${start}V${fromY + bend}C${middle} ${fromY} ${middle} ${fromY} ${fromX + 13} ${fromY}`;
  }
  const out = fromX === middle ? "" : `C${fromX} ${fromY + bend} ${middle} ${fromY} ${middle} ${fromY + bend}`;
  const into = toX === middle ? `V${toY}` : `V${toY - bend}C${middle} ${toY} ${toX} ${toY - bend} ${toX} ${toY}`;
  return `M${fromX} ${fromY}${out}${into}`;
}

function clamp(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(most, value));
}

function Arrow({ x, y }: { readonly x: number; readonly y: number }) {
  return <path class="arrow" d={`M${x + 10} ${y}l7-4.5v9z`} />;
}

interface RowMarkProps {
  readonly row: TimelineRow;
  readonly x: number;
  readonly y: number;
  readonly head: string | undefined;
}

function RowMark({ row, x, y, head }: RowMarkProps) {
  if (row.kind === "gap") return <path class="break" d={`M${x - 6} ${y - 1}l12-5M${x - 6} ${y + 6}l12-5`} />;
  return (
    <>
      {row.item.key === head && <circle class="halo" cx={x} cy={y} r="11" />}
      <GlyphMark of={markOf(row)} x={x} y={y} />
    </>
  );
}

function markOf(row: TimelineRow & { readonly kind: "item" }): StepState | MarkName {
  const { item } = row;
  if (item.kind === "step") return markOfStep(item);
  if (item.kind === "owner") return item.cut ? "crash" : "owner";
  if (item.kind === "note" && item.failed) return "failed";
  return item.kind;
}

function markOfStep(step: Parameters<typeof stepState>[0]): StepState | MarkName {
  const state = stepState(step);
  if (state !== "done") return state;
  if (step.ended !== undefined) return "end";
  if (step.begins) return step.branch === undefined ? "run" : "done";
  return step.move === undefined ? "done" : "move";
}
