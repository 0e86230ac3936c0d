import { addBlobReference } from "../records/blobReferences.ts";
import type { AgentState } from "../state/AgentState.ts";
import { BranchChanges, joinedBranches } from "../state/BranchChanges.ts";
import { foldLine, reachesLine } from "../state/foldTo.ts";
import type { LogProjection } from "../state/LogProjection.ts";
import { stateReferences } from "../state/leanState.ts";
import type { BlobCell, BlobCells } from "../values/BlobCell.ts";

export type LineStates = ReadonlyMap<number, AgentState>;

export function openLineStates(index: LogProjection): LineStates {
  const states = new Map<number, AgentState>();
  for (const lane of runningLanes(index)) {
    const state = foldLine(index, lane);
    if (state) states.set(lane, state);
  }
  return states;
}

/** Returns the lane of a branch or sub-agent that is still needed, but starts before the index. `undefined` if none. */
export function unreachedLine(index: LogProjection): number | undefined {
  const isUnreached = (lane: number) => !reachesLine(index, lane);
  const ended = [...neededResults(index)].map(({ line }) => line.lane);
  return [...runningLanes(index), ...ended].find(isUnreached);
}

function runningLanes(index: LogProjection): readonly number[] {
  const { mainLane, openLanes } = index.lines;
  return openLanes.filter((lane) => lane !== mainLane && !index.latestOf(lane)?.record.ended);
}

export function hasOneLine(index: LogProjection): boolean {
  const { lines, latest } = index;
  return !lines.hasNested && (latest === undefined || joinedBranches(index, latest) === undefined);
}

export function lineReferences(index: LogProjection, states: LineStates): BlobCells {
  const references = new Map<string, BlobCell>();
  for (const state of states.values())
    for (const [reference, cell] of stateReferences(state)) references.set(reference, cell);
  for (const result of neededResults(index)) {
    const stored = [...result.storage.values()].map((change) => change?.value);
    for (const slot of [result.output, ...result.messages.map(({ message }) => message), ...stored])
      addBlobReference(slot, references);
  }
  return references;
}

/** Yields the results of branches that are not joined or merged yet. The result of a sub-agent is in its tool call. */
function* neededResults(index: LogProjection): Generator<BranchChanges> {
  for (const lane of index.lines.openLanes) {
    const line = index.lines.nestedLine(lane);
    const latest = index.latestOf(lane);
    if (line && "fork" in line.place && latest?.record.ended) yield new BranchChanges(index, line);
    else if (latest) yield* joinedBranches(index, latest)?.values() ?? [];
  }
}
