import type { CheckpointPoint } from "../state/CheckpointPoint.ts";
import { contentsOn } from "../state/LaneContents.ts";
import type { LogProjection } from "../state/LogProjection.ts";

/** Where a line is, as users name it. */
export interface LinePath {
  /** The branches around it, as `both#facts`, or `both#shout/inner#x` in one within another. Absent: it is in none. */
  readonly branch?: string;
  /** The names of the tools that the sub-agents around it are called as, outermost first. Empty: it is in none. */
  readonly agentPath: readonly string[];
}

/** The part of a path that the nodes of a line have in common, as a number of names. */
interface Way extends LinePath {
  readonly depth: number;
}

/** Where the line of a lane is. The name of a call's tool is `""` where its intent is not within what was read. */
export function linePath(index: LogProjection, lane: number): LinePath {
  const { branch, agentPath } = wayTo(index, lane);
  return { ...(branch !== undefined && { branch }), agentPath };
}

/** The key of a branch that begins at a checkpoint, by its path; `undefined`: a branch that begins there has another path. */
export function branchKey(index: LogProjection, fork: CheckpointPoint, branch: string): string | undefined {
  const path = forkPath(wayTo(index, fork.record.lane), namesOf(fork));
  return branch.startsWith(path) ? branch.slice(path.length) : undefined;
}

function wayTo(index: LogProjection, lane: number): Way {
  const way: number[] = [];
  for (let at: number | undefined = lane; at !== undefined; at = parentOf(index, at)) way.unshift(at);
  return way.reduce<Way>((outer, at) => within(index, outer, at), { agentPath: [], depth: 0 });
}

/** A line is nested in an earlier one, unless the log is forged. */
function parentOf({ lines }: LogProjection, lane: number): number | undefined {
  const parent = lines.nestedLine(lane)?.place.parent;
  return parent !== undefined && parent < lane ? parent : undefined;
}

function within(index: LogProjection, around: Way, lane: number): Way {
  const { branch, agentPath } = around;
  const place = index.lines.nestedLine(lane)?.place;
  if (place === undefined) return around;
  const outer = branch === undefined ? {} : { branch };
  if ("call" in place) return { ...outer, agentPath: [...agentPath, toolOf(index, place)], depth: 0 };
  const names = namesOf(index.checkpoints.get(place.fork));
  return { branch: forkPath(around, names) + place.branch, agentPath, depth: names.length };
}

function namesOf(fork: CheckpointPoint | undefined): readonly string[] {
  return (fork?.record.node ?? "").split("/");
}

/** A branch stands beside its parallel node: what both are in is in the path of the line around them already. */
function forkPath({ branch, depth }: Pick<Way, "branch" | "depth">, names: readonly string[]): string {
  return `${[branch, ...names.slice(depth)].filter((name) => name !== undefined).join("/")}#`;
}

function toolOf(index: LogProjection, { parent, call }: { readonly parent: number; readonly call: string }): string {
  const tool = contentsOn(index, parent)?.find({ kind: "tool", key: call }, Infinity)?.value;
  return typeof tool === "string" ? tool : (index.base?.state.calls.get(call)?.intent?.tool ?? "");
}
