import type { AgentRecord } from "../records/AgentRecord.ts";
import { type StructureRecord, structureKey, type CheckpointPoint } from "../records/lineRecords.ts";
import type { SnapshotEntry, SnapshotRecord } from "../records/SnapshotRecord.ts";
import type { AgentState } from "../state/AgentState.ts";
import { joinedBranches } from "../state/BranchChanges.ts";
import { foldTo } from "../state/foldTo.ts";
import { byValue } from "../state/leanState.ts";
import type { LogProjection, OrderedRecord } from "../state/LogProjection.ts";
import { type StatusState, statusInSnapshot } from "../state/StatusState.ts";
import {
  checkpointByValue,
  lanesOfVisit,
  visitRecords,
  repeatedRecords,
  restatedLine,
  visitStart,
} from "./lineSnapshot.ts";

/**
 * Returns a snapshot of the head with all open branches and sub-agents. Append the snapshot as the next record. The
 * index must contain all records since the newest snapshot.
 *
 * @returns `undefined` during a rollback, during a merge of branches, or if no run is in progress.
 */
export function headSnapshot(index: LogProjection): SnapshotRecord | undefined {
  const { lines, statusState } = index;
  const start = visitStart(index, lines.mainLane);
  const state = start && foldTo(index, start);
  if (!state?.run || !start || !isSteady(index)) return undefined;
  const nested = lines.openLanes.slice(1).filter((lane) => !index.isEndedAgent(lane));
  const restated = nested.map((lane) => restatedLine(index, lane));
  if (restated.includes(undefined)) return undefined;
  const repeated = repeatedRecords(index, start, state);
  const since = [...visitRecords(index, start, state), ...restated.flatMap((records) => records ?? [])];
  const usage = index.usageOf(state.run.run);
  return {
    ...mainLine(index, start, state, state.run),
    ...lifeOf(statusState),
    ...(repeated.length > 0 && { repeats: true }),
    ...(repeated.length + since.length > 0 && { since: [...entriesOf(index, repeated), ...entriesOf(index, since)] }),
    ...earlierOf(index, [lines.mainLane, ...nested]),
    nextVersion: index.nextVersion,
    ...(index.requests.asksAgain && { asksAgain: true }),
    ...(usage && { usage }),
  };
}

function earlierOf(index: LogProjection, open: readonly number[]): Pick<SnapshotRecord, "earlier"> {
  const earlier = open
    .map((lane) => ({ lane, lanes: lanesOfVisit(index, lane) }))
    .filter(({ lanes }) => lanes.length > 0);
  return earlier.length > 0 ? { earlier } : {};
}

function isSteady(index: LogProjection): boolean {
  const { status, record } = index.statusState.current ?? {};
  if (index.rollback || index.needsWhole || status !== "in_progress" || record?.failedCalls) return false;
  return index.lines.openLanes.every((lane) => {
    const latest = index.latestOf(lane);
    return latest !== undefined && joinedBranches(index, latest) === undefined;
  });
}

function mainLine(
  index: LogProjection,
  start: CheckpointPoint,
  state: AgentState,
  run: NonNullable<AgentState["run"]>,
): Omit<SnapshotRecord, "createdAt"> {
  const parentId = index.parentIdOf(start);
  const { settings, requirements } = state;
  const structure = structureOf(index, state);
  return {
    kind: "snapshot",
    checkpoint: checkpointByValue(index, state.checkpoint ?? start),
    checkpointId: start.id,
    ...(start.parent !== undefined && { parent: start.parent }),
    ...(parentId !== undefined && { parentId }),
    ...(beginsLane(index, start) && { first: true }),
    run,
    nextNumber: index.nextNumber,
    nextLane: index.nextLane,
    history: state.history.map(({ number, message }) => ({ number, message: byValue(message, state) })),
    storage: Object.fromEntries(state.storage),
    ...(settings && { settings }),
    ...(requirements && { requirements }),
    ...(structure && { structure }),
    structures: [...index.structures],
    decisions: state.decisions,
    runs: Object.fromEntries(index.runs),
    cancelled: [...index.cancelled],
    named: Object.fromEntries(index.named),
    ...(index.names.size > 0 && { names: Object.fromEntries(index.names.entries()) }),
    ...(index.pruned && { pruned: index.pruned }),
  };
}

function lifeOf(status: StatusState): Pick<SnapshotRecord, "createdAt" | "life"> {
  const life = statusInSnapshot(status);
  return { createdAt: status.createdAt ?? status.run?.at ?? 0, ...(life && { life }) };
}

function structureOf(index: LogProjection, { structure }: AgentState): StructureRecord | undefined {
  if (!structure || structure.structure !== undefined) return structure;
  const all = [...index.laneRecords.values()].flatMap((records) => records.map(({ record }) => record));
  const isWhole = (record: AgentRecord | undefined): record is StructureRecord =>
    record?.kind === "structure" && structureKey(record) === structureKey(structure) && record.structure !== undefined;
  const whole = [...all, index.base?.state.structure].find(isWhole);
  return whole ? { ...structure, structure: whole.structure } : structure;
}

const ofVisits: readonly string[] = ["checkpoint", "intent", "outcome", "note"];

function beginsLane({ laneRecords, base }: LogProjection, { record: { lane }, order }: CheckpointPoint): boolean {
  if (base?.state.lane === lane && !(base.first && base.order === order)) return false;
  return !(laneRecords.get(lane) ?? []).some((each) => each.order < order && ofVisits.includes(each.record.kind));
}

function entriesOf(index: LogProjection, records: readonly OrderedRecord[]): readonly SnapshotEntry[] {
  const entries: { position: number; generation: number; records: AgentRecord[] }[] = [];
  for (const { record, position } of records.toSorted((a, b) => a.order - b.order)) {
    const generation = record.kind === "checkpoint" ? index.checkpoints.get(record.version)?.generation : undefined;
    let entry = entries.at(-1);
    if (entry?.position !== position) entries.push((entry = { position, generation: generation ?? 1, records: [] }));
    entry.records.push(record);
    entry.generation = generation ?? entry.generation;
  }
  return entries;
}
