import type { AgentRecord } from "../records/AgentRecord.ts";
import type { LanePlace, CheckpointPoint } from "../records/lineRecords.ts";
import { contentsOn } from "../state/lineValue.ts";
import type { LogProjection } from "../state/LogProjection.ts";

/** The run itself, a branch of a parallel node, or a sub-agent. */
export interface LinePath {
  /** The path of the branch, such as `both#facts` or `both#shout/inner#x`. `undefined` outside branches. */
  readonly branch?: string;
  /** The names of the tools that call the sub-agent, outermost first. Empty outside of sub-agents. */
  readonly agentPath: readonly string[];
}

interface Way extends LinePath {
  readonly depth: number;
}

const mainLine: Way = { agentPath: [], depth: 0 };

/** Returns the branch and the sub-agent that a lane belongs to. The name of a tool without a recorded call is `""`. */
export function linePath(index: LogProjection, lane: number): LinePath {
  return pathOf(wayTo(index, lane));
}

export function branchKey(index: LogProjection, parallelStart: CheckpointPoint, branch: string): string | undefined {
  const path = forkPath(wayTo(index, parallelStart.record.lane), parallelStart.record.node.split("/"));
  return branch.startsWith(path) ? branch.slice(path.length) : undefined;
}

export class LinePaths {
  readonly #index: LogProjection;
  readonly #ways = new Map<number, Way>();
  readonly #nodes = new Map<number, string>();
  readonly #tools = new Map<string, string>();

  constructor(index: LogProjection) {
    this.#index = index;
  }

  add(record: AgentRecord): void {
    if (record.kind === "checkpoint") this.#nodes.set(record.lane, record.node);
    else if (record.kind === "intent") this.#tools.set(record.call, record.tool);
    else if (record.kind === "outcome") this.#tools.delete(record.call);
    else if (record.kind === "lane" && record.place) this.#ways.set(record.lane, this.#within(record.place));
  }

  of(lane: number): LinePath {
    return pathOf(this.#wayTo(lane));
  }

  #wayTo(lane: number): Way {
    return this.#ways.get(lane) ?? wayTo(this.#index, lane);
  }

  #within(place: LanePlace): Way {
    const known = "fork" in place ? this.#nodes.get(place.parent) : this.#tools.get(place.call);
    return within(this.#wayTo(place.parent), place, (at) => known ?? nameIn(this.#index, at));
  }
}

function pathOf({ branch, agentPath }: Way): LinePath {
  return { ...(branch !== undefined && { branch }), agentPath: [...agentPath] };
}

function wayTo(index: LogProjection, lane: number): Way {
  const lines = [...index.lines.around(lane)];
  return lines.reduceRight((around, { place }) => within(around, place, (at) => nameIn(index, at)), mainLine);
}

function within(around: Way, place: LanePlace, nameOf: (place: LanePlace) => string): Way {
  const { branch, agentPath } = around;
  if ("call" in place)
    return { ...(branch !== undefined && { branch }), agentPath: [...agentPath, nameOf(place)], depth: 0 };
  const names = nameOf(place).split("/");
  return { branch: forkPath(around, names) + place.branch, agentPath, depth: names.length };
}

/** Omits the first `depth` names, which the path of the enclosing branch already contains. */
function forkPath({ branch, depth }: Way, names: readonly string[]): string {
  return `${[branch, ...names.slice(depth)].filter((name) => name !== undefined).join("/")}#`;
}

function nameIn(index: LogProjection, place: LanePlace): string {
  if ("fork" in place) return index.checkpoints.get(place.fork)?.record.node ?? "";
  const tool = contentsOn(index, place.parent)?.find({ kind: "tool", key: place.call }, Infinity)?.value;
  return typeof tool === "string" ? tool : (index.base?.state.calls.get(place.call)?.intent?.tool ?? "");
}
