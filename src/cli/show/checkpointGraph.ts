import type { CheckpointView } from "../../inspect.ts";

type Node = Pick<CheckpointView, "checkpointId" | "lane" | "parentId" | "otherParentIds">;

/** A row of a drawn tree. */
export interface GraphRow<Checkpoint> {
  readonly graph: string;
  /** Absent: the row only has lines. */
  readonly checkpoint?: Checkpoint;
}

const dot = "●";

/**
 * Draws checkpoints, oldest first, with the lines between them: each row is a checkpoint, and rows between them are where lines
 * part and join.
 */
export function checkpointGraph<Checkpoint extends Node>(
  checkpoints: readonly Checkpoint[],
): readonly GraphRow<Checkpoint>[] {
  const children = childrenOf(checkpoints);
  /** For each column the checkpoint that its line leads to; `undefined`: it is free. */
  const columns: (string | undefined)[] = [];
  const rows: GraphRow<Checkpoint>[] = [];
  for (const checkpoint of checkpoints) {
    const id = checkpoint.checkpointId;
    const arriving = columns.flatMap((to, at) => (to === id ? [at] : []));
    const [own = freeColumn(columns), ...joined] = arriving;
    if (joined.length > 0) rows.push({ graph: forked(columns, own, joined, ["╯", "┴"]) });
    for (const at of joined) columns[at] = undefined;
    columns[own] = id;
    rows.push({ graph: drawn(columns, own), checkpoint });
    const [next, ...others] = children.get(id) ?? [];
    columns[own] = next;
    const parted = others.map((child) => {
      const at = freeColumn(columns);
      columns[at] = child;
      return at;
    });
    if (parted.length > 0) rows.push({ graph: forked(columns, own, parted, ["╮", "┬"]) });
    while (columns.length > 0 && columns.at(-1) === undefined) columns.pop();
  }
  return rows;
}

/** What follows each checkpoint; on its own lane first, so that a line goes straight on. */
function childrenOf(checkpoints: readonly Node[]): ReadonlyMap<string, readonly string[]> {
  const known = new Map(checkpoints.map((each) => [each.checkpointId, each]));
  const children = new Map<string, string[]>();
  for (const { checkpointId, lane, parentId, otherParentIds = [] } of checkpoints)
    for (const id of [parentId, ...otherParentIds]) {
      const parent = id === undefined ? undefined : known.get(id);
      if (!parent) continue;
      const list = children.get(parent.checkpointId) ?? [];
      if (parent.lane === lane) list.unshift(checkpointId);
      else list.push(checkpointId);
      children.set(parent.checkpointId, list);
    }
  return children;
}

function freeColumn(columns: readonly (string | undefined)[]): number {
  const free = columns.indexOf(undefined);
  return free < 0 ? columns.length : free;
}

function drawn(columns: readonly (string | undefined)[], own: number): string {
  return columns
    .map((to, at) => (at === own ? dot : to === undefined ? " " : "│"))
    .join(" ")
    .trimEnd();
}

/** Lines that part from a column, or join it. @param ends how the outermost and the others of them are drawn. */
function forked(
  columns: readonly (string | undefined)[],
  own: number,
  others: readonly number[],
  [last, inner]: readonly [string, string],
): string {
  const [first, final] = [Math.min(own, ...others), Math.max(own, ...others)];
  const cells = columns.map((to, at) => {
    if (at === own) return own === final ? "┤" : "├";
    if (others.includes(at)) return at === final ? last : at === first ? mirrored(last) : inner;
    const passes = at > first && at < final;
    return to === undefined ? (passes ? "─" : " ") : passes ? "┼" : "│";
  });
  return cells
    .map((cell, at) => cell + (at >= first && at < final ? "─" : " "))
    .join("")
    .trimEnd();
}

function mirrored(end: string): string {
  return end === "╮" ? "╭" : "╰";
}
