import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import type { AgentIndex, LogEvent } from "./AgentIndex.ts";
import type { OwnerView } from "../view/AgentView.ts";

/** The records of a lane since its last checkpoint, or a node that runs without records. */
export interface UnendedVisit {
  readonly unended: number;
  readonly order: number;
}

export type StepEvent = LogEvent | UnendedVisit;

/** The records of a node execution. They prove that a node ran, even without a checkpoint. */
export const workKinds: ReadonlySet<AgentRecord["kind"]> = new Set(["intent", "outcome", "answer", "request", "note"]);

/** Returns all steps of a log, oldest first. Unfinished steps are last. */
export function stepEvents(index: AgentIndex, owner: OwnerView | undefined): readonly StepEvent[] {
  const unended = [...index.log.laneRecords.keys()].flatMap((lane) => unendedOn(index, lane, owner) ?? []);
  if (unended.length === 0) return index.events;
  return [...index.events, ...unended].sort((a, b) => a.order - b.order);
}

function unendedOn(index: AgentIndex, lane: number, owner: OwnerView | undefined): UnendedVisit | undefined {
  const { log } = index;
  const records = log.laneRecords.get(lane) ?? [];
  const last = records.findLast(({ record }) => record.kind === "checkpoint" || workKinds.has(record.kind));
  const isWork = last !== undefined && last.record.kind !== "checkpoint";
  const isOpen = log.lines.isOpen(lane);
  if (!isWork && !(isOpen && isRunning(log, lane, owner))) return undefined;
  return { unended: lane, order: isOpen ? index.nextOrder + lane : (last?.order ?? 0) + 0.25 };
}

function isRunning(log: LogProjection, lane: number, owner: OwnerView | undefined): boolean {
  const latest = log.latestOf(lane)?.record;
  if (!latest || latest.ended || latest.status || owner?.state !== "alive") return false;
  const hasOpenLine = log.lines.childrenOf(lane).some((line) => log.lines.isOpen(line.lane));
  return log.statusState.current?.status === "in_progress" && !hasOpenLine;
}
