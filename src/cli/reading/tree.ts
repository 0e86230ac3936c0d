import { type CheckpointView, inspect } from "../../inspect.ts";
import { findAgent } from "../ids/findLog.ts";
import { newestCheckpoints, type NewestCheckpoints } from "../ids/findCheckpointId.ts";
import type { CommonOptions, Session } from "../session/Session.ts";
import { type Part, painted } from "../terminal/painted.ts";
import { warnOfDamage } from "./shown.ts";
import type { ExitReason } from "../terminal/CommandFailure.ts";

export interface TreeCommandOptions extends CommonOptions {
  readonly last: number;
}

export async function tree(session: Session, { last }: TreeCommandOptions, given: string): Promise<ExitReason | void> {
  const storage = await session.storage();
  const agentId = await findAgent(storage, given);
  const view = inspect(storage);
  const found = await newestCheckpoints(view, agentId, last === 0 ? Infinity : last);
  await showTree(session, found);
  const damaged = await warnOfDamage(session, view, agentId);
  if (!damaged && found.total === 0) await session.output.note("It has no checkpoints.");
  return damaged;
}

async function showTree(session: Session, { checkpoints, total }: NewestCheckpoints): Promise<void> {
  const { output } = session;
  if (output.json) return output.document({ checkpoints, total });
  if (checkpoints.length === 0) return;
  const rows = checkpointGraph(checkpoints).map(({ graph, checkpoint }) => rowOf(session, graph, checkpoint));
  await output.table(["", "CHECKPOINT", "NEXT NODE", "MADE BY", "WHEN"], rows);
  if (checkpoints.length < total)
    await output.note(`The newest ${checkpoints.length} of ${total}. To see more, raise --last.`);
}

function rowOf(
  { output }: Session,
  graph: string,
  checkpoint: CheckpointView | undefined,
): readonly (readonly Part[])[] {
  if (checkpoint === undefined) return [[graph], [""], [""], [""], [""]];
  const { checkpointId, name, node, line, at, isHead, isLeft } = checkpoint;
  const where = [...line.agentPath, ...(line.branch === undefined ? [] : [line.branch]), node].join(" › ");
  return [
    [painted(isHead ? "green" : isLeft ? "dim" : "cyan", graph)],
    [painted(isHead ? "bold" : isLeft ? "dim" : "cyan", checkpointId), name === undefined ? "" : ` "${name}"`],
    [where, isHead ? painted("green", "  ← head") : ""],
    [madeBy(checkpoint)],
    [output.ago(at)],
  ];
}

function madeBy({ move, trigger, by, reason, status }: CheckpointView): Part {
  if (move !== undefined) return painted("yellow", [move, by, reason].filter((text) => text !== undefined).join(", "));
  if (status !== "in_progress") return painted(status === "completed" ? "green" : "dim", `${status} run`);
  return trigger === "asked_for" ? "createCheckpoint()" : (trigger ?? "");
}

type Node = Pick<CheckpointView, "checkpointId" | "lane" | "parentId" | "otherParentIds">;

interface GraphRow<Checkpoint> {
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

/**
 * Returns the children of each checkpoint. A child on the same lane comes first, so that the line of the lane stays
 * straight.
 */
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

/** Draws lines between one column and others. `last` is the character of the outermost column, `inner` of the rest. */
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
