import type { CheckpointView } from "../../inspect.ts";

type Node = Pick<CheckpointView, "checkpointId" | "lane" | "parentId" | "otherParentIds">;

export interface GraphRow<Checkpoint> {
  readonly graph: string;
  /** Omitted in rows that only contain lines. */
  readonly checkpoint?: Checkpoint;
}

const dot = "●";

/** Draws checkpoints, oldest first. Rows between checkpoints show where lines fork and join. */
export function checkpointGraph<Checkpoint extends Node>(
  checkpoints: readonly Checkpoint[],
): readonly GraphRow<Checkpoint>[] {
  const children = childrenOf(checkpoints);
  /** The checkpoint that the line of each column leads to, or `undefined` for a free column. */
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

/** Returns the children of each checkpoint, starting with the same lane so that its line stays straight. */
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

/**
 * Draws lines that fork from a column or join it. `ends` contains the characters of the outermost and the other lines.
 */
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
