import type { TimelineRollback, TimelineStep } from "../data/TimelineData.ts";
import type { TimelineRow } from "./timelineRows.ts";

export interface GraphEdge {
  readonly kind: "line" | "back";
  readonly column: number;
  readonly from: GraphPoint;
  readonly to: GraphPoint;
  /** Whether the edge leads to abandoned steps. */
  readonly reverted: boolean;
}

export interface GraphPoint {
  readonly row: number;
  readonly column: number;
}

export interface GraphLayout {
  /** The column of each row's mark. */
  readonly columns: readonly number[];
  readonly edges: readonly GraphEdge[];
  readonly width: number;
}

/**
 * Computes the columns of the graph. The steps to the head are in column 0. Every other chain of steps, and the edge of
 * a rollback, is in the first column that is free over its whole length.
 */
export function laneColumns(rows: readonly TimelineRow[], head: string | undefined): GraphLayout {
  const places = new GraphPlaces(rows);
  const straight = placeStraight(places, head);
  for (const chain of chainsOf(places, straight)) placeChain(places, chain);
  placeMarks(places);
  placeJoins(places);
  placeWaysBack(places);
  return { columns: places.columns, edges: places.edges, width: places.width };
}

class GraphPlaces {
  readonly rows: readonly TimelineRow[];
  readonly steps: readonly (readonly [row: number, step: TimelineStep])[];
  readonly rowOf: ReadonlyMap<string, number>;
  readonly columns: number[];
  readonly edges: GraphEdge[] = [];
  width = 1;
  readonly #taken: (readonly [first: number, last: number])[][] = [];

  constructor(rows: readonly TimelineRow[]) {
    this.rows = rows;
    this.columns = rows.map(() => 0);
    this.steps = rows.flatMap((row, index) => (isStep(row) ? [[index, row.item] as const] : []));
    this.rowOf = new Map(this.steps.map(([row, { key }]) => [key, row]));
  }

  /** Reserves the first column from `least` on that is free from one row to another. */
  take(first: number, last: number, least: number): number {
    let column = least;
    while (this.#taken[column]?.some(([from, to]) => from <= last && first <= to)) column += 1;
    while (this.#taken.length <= column) this.#taken.push([]);
    this.#taken[column]?.push([first, last]);
    this.width = Math.max(this.width, column + 1);
    return column;
  }

  connect(from: number, to: number, column: number, reverted: boolean): void {
    const points = {
      from: { row: from, column: this.columns[from] ?? 0 },
      to: { row: to, column: this.columns[to] ?? 0 },
    };
    this.edges.push({ kind: "line", column, ...points, reverted });
  }
}

function isStep(row: TimelineRow): row is TimelineRow & { readonly kind: "item"; readonly item: TimelineStep } {
  return row.kind === "item" && row.item.kind === "step";
}

/** Places the steps to the head and its unfinished step in column 0. Without a head, the last step counts as head. */
function placeStraight(places: GraphPlaces, head: string | undefined): ReadonlySet<number> {
  const onWay = new Set<number>();
  const since = places.steps.find(([, { parent, open }]) => open !== undefined && parent === head);
  let row = since?.[0] ?? places.rowOf.get(head ?? "") ?? places.steps.at(-1)?.[0];
  while (row !== undefined && !onWay.has(row)) {
    onWay.add(row);
    row = parentRow(places, row);
  }
  const way = [...onWay].toSorted((a, b) => a - b);
  way.slice(1).forEach((to, index) => places.connect(way[index] ?? to, to, 0, false));
  if (way.length > 0) places.take(way[0] ?? 0, way.at(-1) ?? 0, 0);
  return onWay;
}

/** Returns the remaining steps as chains of consecutive steps. */
function chainsOf(places: GraphPlaces, straight: ReadonlySet<number>): readonly (readonly number[])[] {
  const chains: number[][] = [];
  const endingAt = new Map<number, number[]>();
  for (const [row] of places.steps) {
    if (straight.has(row)) continue;
    const parent = parentRow(places, row);
    const chain = parent === undefined ? undefined : endingAt.get(parent);
    const grown = chain ?? [];
    if (chain === undefined) chains.push(grown);
    else if (parent !== undefined) endingAt.delete(parent);
    grown.push(row);
    endingAt.set(row, grown);
  }
  return chains;
}

function placeChain(places: GraphPlaces, chain: readonly number[]): void {
  const [first = 0] = chain;
  const last = chain.at(-1) ?? first;
  const parent = parentRow(places, first);
  const straight = parent === undefined && places.edges.length === 0 ? 0 : 1;
  const column = places.take(parent === undefined ? first : parent + 1, last, straight);
  for (const row of chain) places.columns[row] = column;
  if (parent !== undefined) places.connect(parent, first, column, isReverted(places.rows[first]));
  chain.slice(1).forEach((to, index) => places.connect(chain[index] ?? to, to, column, isReverted(places.rows[to])));
}

function isReverted(row: TimelineRow | undefined): boolean {
  return row?.kind === "item" && row.item.kind === "step" && row.item.left !== undefined;
}

/** Places rows that are not steps in the column of the previous step. */
function placeMarks(places: GraphPlaces): void {
  let column = 0;
  places.rows.forEach((row, index) => {
    if (isStep(row)) column = places.columns[index] ?? 0;
    else places.columns[index] = row.kind === "item" && row.item.kind === "run" ? 0 : column;
  });
}

/** Adds an edge from each joined branch to the step that joins it. */
function placeJoins(places: GraphPlaces): void {
  for (const [row, { joins = [] }] of places.steps) {
    for (const joined of joins) {
      const from = places.rowOf.get(joined);
      if (from === undefined || from >= row) continue;
      const column = places.columns[from] ?? 0;
      if (column !== places.columns[row]) places.connect(from, row, column, isReverted(places.rows[row]));
    }
  }
}

function placeWaysBack(places: GraphPlaces): void {
  places.rows.forEach((row, index) => {
    if (row.kind === "item" && row.item.kind === "rollback") placeWayBack(places, index, row.item);
  });
}

function placeWayBack(places: GraphPlaces, row: number, { from: left = "", target = "" }: TimelineRollback): void {
  const { rowOf, columns } = places;
  const begin = rowOf.get(left);
  if (begin !== undefined) {
    columns[row] = columns[begin] ?? 0;
    places.connect(begin, row, columns[row] ?? 0, true);
  }
  const end = rowOf.get(target);
  if (end === undefined || end >= row) return;
  const own = columns[row] ?? 0;
  const column = places.take(end, row, own + 1);
  const from = { row: end, column: columns[end] ?? 0 };
  places.edges.push({ kind: "back", column, from, to: { row, column: own }, reverted: false });
}

function parentRow(places: GraphPlaces, row: number): number | undefined {
  const at = places.rows[row];
  const parent = at && isStep(at) ? places.rowOf.get(at.item.parent ?? "") : undefined;
  return parent !== undefined && parent < row ? parent : undefined;
}
