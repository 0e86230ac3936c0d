import { linesAt } from "../../checkpoint/moment/linesAt.ts";
import { type NewLines, newLines, type NewLinesOptions } from "../../checkpoint/moment/newLines.ts";
import type { LinesAt } from "../../checkpoint/moment/linesAt.ts";
import type { AgentState } from "../../checkpoint/state/AgentState.ts";
import type { CheckpointPoint } from "../../checkpoint/state/CheckpointPoint.ts";
import { randomId } from "../../internal/randomId.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import { runAt } from "./continueFromHead.ts";

/** Returns the lines that were open at a checkpoint. `undefined` if it was only the main line. */
export function linesBeside({ index }: AgentLog, target: CheckpointPoint): LinesAt | undefined {
  const found = linesAt(index, target);
  return found.lines.length === 1 && found.own?.point === target ? undefined : found;
}

/** Restarts the lines of an earlier point, in records for the caller to append. @throws UnreadableValueError */
export function restartLines(
  journal: Journal,
  log: AgentLog,
  lines: LinesAt,
  options: Pick<NewLinesOptions, "move" | "runId" | "change">,
): NewLines {
  const { agentId, nextLane, nextVersion, clock, usage, sha256 } = journal;
  const begun = newLines(log.index, lines, {
    ...options,
    agentId,
    nextLane,
    nextVersion,
    at: clock.now(),
    usage,
    sha256,
    reader: (state) => log.reader(state),
  });
  journal.nextLane = begun.nextLane;
  journal.nextVersion = begun.nextVersion;
  return begun;
}

export function statesOf({
  lines,
}: NewLines): readonly [main: AgentState | undefined, ReadonlyMap<number, AgentState>] {
  const [main, ...nested] = [...lines].map(([lane, { state }]) => [lane, state] as const);
  return [main?.[1], new Map(nested)];
}

/** Returns the run that continues from a checkpoint. A branch of a finished run is a new run. */
export function branchRun({ clock }: Journal, { index }: AgentLog, target: CheckpointPoint) {
  const { run, reopens } = runAt(target, index);
  return { reopens, run: reopens ? { ...run, run: randomId(), at: clock.now() } : run };
}
