import { addBlobReference } from "../records/blobReferences.ts";
import type { AgentState } from "../state/AgentState.ts";
import { BranchResult, joinedBranches } from "../state/BranchResult.ts";
import { foldLine, reachesLine } from "../state/foldTo.ts";
import type { LogProjection } from "../state/LogProjection.ts";
import { stateReferences } from "../state/stateReferences.ts";
import type { BlobCell, BlobCells } from "../values/BlobCell.ts";

/** The states of the open nested lines that have not ended, by lane. */
export type LineStates = ReadonlyMap<number, AgentState>;

/** The states of the open nested lines that have not ended, by lane: each after the line that it is nested in. */
export function openLineStates(index: LogProjection): LineStates {
  const states = new Map<number, AgentState>();
  for (const lane of runningLanes(index)) {
    const state = foldLine(index, lane);
    if (state) states.set(lane, state);
  }
  return states;
}

/**
 * The lane of an open line that begins before the index does, also of a branch that has ended and whose result is needed;
 * `undefined`: there is none.
 */
export function unreachedLine(index: LogProjection): number | undefined {
  const isUnreached = (lane: number) => !reachesLine(index, lane);
  const ended = [...neededResults(index)].map(({ line }) => line.lane);
  return [...runningLanes(index), ...ended].find(isUnreached);
}

/** The lanes of the open nested lines that have not ended, each after that of the line that it is nested in. */
function runningLanes(index: LogProjection): readonly number[] {
  const { mainLane, openLanes } = index.lines;
  return openLanes.filter((lane) => lane !== mainLane && !index.latestOf(lane)?.record.ended);
}

/** Whether an index knows of nothing but the main line that a run still needs. */
export function hasOneLine(index: LogProjection): boolean {
  const { lines, latest } = index;
  return !lines.hasNested && (latest === undefined || joinedBranches(index, latest) === undefined);
}

/** The blobs that the open nested lines need to continue or to be joined, and those of branches whose results are merged. */
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

/** What branches have done that are to be joined or merged. A sub-agent that has ended has an outcome. */
function* neededResults(index: LogProjection): Generator<BranchResult> {
  for (const lane of index.lines.openLanes) {
    const line = index.lines.nestedLine(lane);
    const latest = index.latestOf(lane);
    if (line && "fork" in line.place && latest?.record.ended) yield new BranchResult(index, line);
    else if (latest) yield* joinedBranches(index, latest)?.values() ?? [];
  }
}
