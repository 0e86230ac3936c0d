import { addToGroup } from "../../internal/addToGroup.ts";
import { addUsage, type ModelUsage } from "../tokenUsage/ModelUsage.ts";
import { type Entry, entryBytes } from "../records/Entry.ts";
import { addValueReferences } from "../records/blobReferences.ts";
import { type AgentState, baseOfSnapshot, type ProjectionBase } from "./AgentState.ts";
import { isOver, type OutcomeRecord } from "../records/callRecords.ts";
import { isMerged, type AgentRecord, type PrunedRecord, isOfRollback } from "../records/AgentRecord.ts";
import { LineRequests } from "../lines/LineRequests.ts";
import {
  type EditRecord,
  parallelStartOf,
  type LaneStart,
  type MessageRecord,
  originOf,
  type CheckpointRecord,
  type CheckpointPoint,
} from "../records/lineRecords.ts";
import { notesAfter, runsLeft, runsRejoined } from "../lines/afterRollback.ts";
import { Lines } from "../lines/Lines.ts";
import { lanesTo } from "../lines/lineage.ts";
import { LogFacts } from "./LogFacts.ts";
import type { EarlierLane, LastPruning, SnapshotEntry, SnapshotRecord } from "../records/SnapshotRecord.ts";
import type { RollbackEndRecord, RollbackRecord } from "../records/rollbackRecords.ts";
import type { EndedRecord, RunRecord } from "../records/runRecords.ts";
import { statusAfter, statusAtSnapshot, initialStatus, type StatusState } from "./StatusState.ts";

export interface OrderedRecord {
  readonly record: AgentRecord;
  readonly position: number;
  readonly order: number;
}

/** An index of the records of a log. Add entries oldest first, from the first entry of the log or from a snapshot. */
export class LogProjection extends LogFacts {
  readonly checkpoints = new Map<number, CheckpointPoint>();
  readonly lanes = new Map<number, LaneStart>();
  readonly lines = new Lines();
  readonly laneRecords = new Map<number, OrderedRecord[]>();
  readonly runRecords = new Map<string, RunRecord>();
  /** By version of a rollback's last checkpoint: the calls that the rollback reverted. */
  readonly closedBy = new Map<number, readonly string[]>();
  /** The state at the snapshot where reading started. `undefined` if reading started at the first entry. */
  base: ProjectionBase | undefined;
  statusState: StatusState = initialStatus;
  latest: CheckpointPoint | undefined;
  /** The rollback that the log ends with. Only retries of failed steps can follow the rollback. */
  lastRollback: RollbackEndRecord | undefined;
  rollback: RollbackRecord | undefined;
  /** The common ancestors of redos, which show which records are abandoned. */
  readonly redoneFrom = new Set<number>();
  /** True if a redo abandoned records from before the index, so only the whole log shows which runs finished. */
  needsWhole = false;
  pruned: LastPruning | undefined;
  /** By lane: earlier lanes that the index lacks, newest first. Ids of calls can be derived from these lanes. */
  readonly earlierLanes = new Map<number, readonly EarlierLane[]>();
  prunedAt = 0;
  readonly merged: OrderedRecord[] = [];
  readonly requests = new LineRequests();
  position = 0;
  entries = 0;
  /** The approximate size of the records since the newest snapshot, which the next opening reads. */
  bytes = 0;
  nextVersion = 1;
  nextNumber = 1;
  nextLane = 1;
  readonly #ids = new Map<string, CheckpointPoint>();
  readonly #lastOfLane = new Map<number, number>();
  readonly #askedFor = new Set<number>();
  readonly ends = new Map<number, OrderedRecord & { readonly record: EndedRecord }>();
  #order = 0;
  #usage: ModelUsage | undefined;

  /**
   * Returns a projection that continues from this head with a given state. Both projections share the facts about the
   * whole log, including facts that one of them adds later.
   */
  continued(state: AgentState): LogProjection {
    const next = new LogProjection(this);
    const parentId = state.checkpoint && this.parentIdOf(state.checkpoint);
    const order = this.#endsAtCheckpoint(state) ?? this.#order++;
    next.base = { state, order, parentId, first: false, isPassed: false };
    next.earlierLanes.set(state.lane, lanesTo(this, state.lane).slice(1));
    const start = this.lanes.get(state.lane);
    if (start) next.#addLane(start, next.base.order);
    for (const run of [state.run, this.run]) if (run) next.runRecords.set(run.run, run);
    for (const point of this.askedFor) if (point.runId === this.latest?.runId) next.#addPoint(point);
    if (this.latest) next.#addPoint(state.checkpoint ?? this.latest);
    const { statusState, rollback, pruned, position, entries, bytes, nextVersion, nextNumber, nextLane } = this;
    Object.assign(next, { statusState, rollback, pruned, position, entries, bytes, nextVersion, nextNumber, nextLane });
    next.requests.continue(this.requests);
    next.#order = this.#order;
    next.#usage = this.#usage;
    return next;
  }

  #endsAtCheckpoint({ lane, checkpoint }: AgentState): number | undefined {
    const last = this.laneRecords.get(lane)?.at(-1)?.order ?? this.base?.order;
    return last === checkpoint?.order ? last : undefined;
  }

  get run(): RunRecord | undefined {
    return this.statusState.run;
  }

  get unfinished(): boolean {
    return this.run !== undefined && !this.runs.has(this.run.run);
  }

  /** Adds an entry and returns its size, which `entryBytes` computes unless `bytes` is given. */
  add(entry: Entry, bytes = entryBytes(entry.records)): number {
    const first = this.position === 0;
    this.position = entry.position;
    this.entries++;
    const records = entry.records as readonly AgentRecord[];
    const snapshot = records.find((record) => record.kind === "snapshot");
    this.bytes = snapshot ? bytes : this.bytes + bytes;
    if (first && snapshot) this.#beginWith(snapshot, entry);
    // Earlier records in the append of a snapshot are part of the snapshot. Later records are not part of the snapshot.
    const added = first && snapshot ? records.slice(records.indexOf(snapshot) + 1) : records;
    for (const record of added) this.#addRecord(record, entry);
    return bytes;
  }

  /**
   * Returns whether a call counts on its lane. A reverted call does not count. A call without an outcome on the lane
   * counts unless it ended on another lane, was closed by a rollback, or belongs to the original agent of a fork.
   */
  counts({ call, outcome }: { readonly call: string; readonly outcome?: OutcomeRecord }): boolean {
    if (this.owners.has(call) && !isOver(outcome)) return false;
    return !this.reverted.has(call) && (outcome !== undefined || !(this.closed.has(call) || this.ended.has(call)));
  }

  succeeded(call: string): boolean {
    return this.ended.has(call) && !this.unsuccessful.has(call);
  }

  /** Returns the tokens of the current run, or of an earlier run at its last checkpoint. `undefined` if unknown. */
  usageOf(run: string): ModelUsage | undefined {
    if (run === this.run?.run) return this.#usage;
    if (!this.runRecords.has(run)) return undefined;
    return [...this.checkpoints.values()].findLast(({ runId }) => runId === run)?.record.usage;
  }

  latestOf(lane: number): CheckpointPoint | undefined {
    return this.checkpoints.get(this.#lastOfLane.get(lane) ?? -1);
  }

  /** Returns whether a lane belongs to a finished sub-agent, whose output its caller possibly used already. */
  isEndedAgent(lane: number): boolean {
    const place = this.lines.nestedLine(lane)?.place;
    return place !== undefined && "call" in place && this.latestOf(lane)?.record.ended === true;
  }

  get askedFor(): readonly CheckpointPoint[] {
    return [...this.#askedFor].flatMap((version) => this.checkpoints.get(version) ?? []);
  }

  parentIdOf(point: CheckpointPoint): string | undefined {
    if (point.parent === undefined) return undefined;
    const isBase = point.version === this.base?.state.checkpoint?.version;
    return this.checkpoints.get(point.parent)?.id ?? (isBase ? this.base?.parentId : undefined);
  }

  byId(id: string): CheckpointPoint | undefined {
    return this.#ids.get(id) ?? this.checkpoints.get(this.names.versionOf(id) ?? -1);
  }

  #addRecord(record: AgentRecord, entry: Entry): void {
    const order = this.#order++;
    this.#addFacts(record, entry, order);
    switch (record.kind) {
      case "run":
        this.reopen(record.run);
        this.runRecords.set(record.run, record);
        return;
      case "lane":
        return this.#addLane({ record, runId: this.run?.run ?? "" }, order);
      case "message":
      case "edit":
      case "pruned":
        return this.#addNumbers(record, entry);
      case "origin":
        this.nextLane = Math.max(this.nextLane, record.nextLane);
        return this.addOrigin(record, entry.position, this.laneRecords.values());
      case "note":
        return this.addNote({ record, order }, entry.position);
      case "checkpoint":
        return this.#addCheckpoint(record, entry, order);
      case "ended":
        return this.#addEnd(record, entry, order);
      default:
        return this.#addToCalls(record);
    }
  }

  #addToCalls(record: AgentRecord): void {
    if (record.kind === "rollback") this.#beginRollback(record);
    else if (record.kind === "rollback_end") this.#endRollback(record);
    else this.addToCalls(record);
  }

  #addFacts(record: AgentRecord, { position, generation }: Entry, order: number): void {
    if (this.lastRollback && !isOfRollback(record, this.lastRollback, this.closed)) this.lastRollback = undefined;
    this.#addUsage(record);
    addValueReferences(record, this.valueBlobs);
    this.statusState = statusAfter(this.statusState, record, generation);
    this.requests.add(record, order);
    if ("lane" in record) this.#addToLane(record, position, order);
  }

  #addEnd(record: EndedRecord, { position }: Entry, order: number): void {
    this.ends.set(record.version, { record, position, order });
    this.nextVersion = record.version + 1;
    this.#endRun(record, record.run, position);
  }

  #addUsage(record: AgentRecord): void {
    if (record.kind === "run") this.#usage = this.usageOf(record.run);
    else if (record.kind === "answer") this.#usage = addUsage(this.#usage, record.usage);
    else if ((record.kind === "checkpoint" || record.kind === "status") && record.usage) this.#usage = record.usage;
  }

  #addNumbers(record: MessageRecord | EditRecord | PrunedRecord, { position }: Entry): void {
    if (record.kind === "message") this.nextNumber = Math.max(this.nextNumber, record.number + 1);
    else if (record.kind === "edit")
      for (const { number } of record.insert) this.nextNumber = Math.max(this.nextNumber, number + 1);
    else {
      this.prunedAt = position;
      this.nextNumber = Math.max(this.nextNumber, record.nextNumber);
      this.pruned = [this.nextVersion - 1, this.checkpoints.size + this.ends.size];
    }
  }

  /** A rollback that is repeated after a crash continues the steps of its first plan. */
  #beginRollback(record: RollbackRecord): void {
    const isSame = this.rollback?.target === record.target && this.rollback.base === record.base;
    const open = isSame ? this.rollback?.participants : undefined;
    if (!open) this.stepsTaken.clear();
    this.rollback = open ? { ...record, participants: open } : record;
    for (const call of record.closed) this.closed.add(call);
    this.addContents(record);
  }

  #endRollback(record: RollbackEndRecord): void {
    const { reverted, redone } = notesAfter(this, record);
    for (const note of reverted) this.revertedNotes.add(note);
    for (const note of redone) if (this.isRedoable(note)) this.revertedNotes.delete(note);
    this.rollback = undefined;
    this.lastRollback = record;
    for (const run of runsLeft(this, record)) this.reopen(run);
    for (const finished of runsRejoined(this, record)) this.endAgain(finished);
    if (record.base === undefined) return;
    this.redoneFrom.add(record.base);
    this.needsWhole ||= !this.checkpoints.has(record.base);
  }

  #addLane(start: LaneStart, order: number): void {
    this.lanes.set(start.record.lane, start);
    this.lines.addLane(start.record, order);
    // The checkpoint of the parallel node can be pruned, but its version stays used.
    this.nextVersion = Math.max(this.nextVersion, (parallelStartOf(start.record) ?? 0) + 1);
  }

  #addToLane(record: AgentRecord & { readonly lane: number }, position: number, order: number): void {
    const ordered = { record, position, order };
    addToGroup(this.laneRecords, record.lane, ordered);
    if (isMerged(record)) this.merged.push(ordered);
    this.nextLane = Math.max(this.nextLane, record.lane + 1);
  }

  #addCheckpoint(record: CheckpointRecord, entry: Entry, order: number): void {
    const { lane, version, id: given } = record;
    const { generation, position } = entry;
    const start = this.lanes.get(lane);
    const parent = this.#lastOfLane.get(lane) ?? (start && originOf(start.record));
    const runId = start?.runId ?? this.run?.run ?? "";
    const id = given ?? `${generation}-${version}`;
    this.#takeId(id);
    this.#addPoint({ id, generation, version, position, runId, parent, record, order });
    if (given !== undefined) this.named.set(given, [version, position]);
    this.#endRun(record, runId, position);
    this.#closeCalls(version, parent);
  }

  /** Branches can add checkpoints during a rollback. Only the last checkpoint of the rollback follows its target. */
  #closeCalls(version: number, parent = 0): void {
    if (this.rollback?.target !== parent) return;
    const reverted = this.rollback.calls.filter((call) => this.reverted.has(call));
    this.closedBy.set(version, reverted);
  }

  #endRun({ status, version }: Pick<CheckpointRecord, "status" | "version">, runId: string, position: number): void {
    if (status !== undefined) this.runs.set(runId, [version, position]);
    if (status === "cancelled") this.cancelled.add(runId);
  }

  #addPoint(point: CheckpointPoint): void {
    const { id, version, record } = point;
    this.checkpoints.set(version, point);
    this.#ids.set(id, point);
    this.#lastOfLane.set(record.lane, version);
    if (record.trigger === "asked_for") this.#askedFor.add(version);
    this.lines.addCheckpoint(record, point.order);
    if (!this.lines.nestedLine(record.lane)) this.latest = point;
    this.nextVersion = version + 1;
  }

  /** If two checkpoints have the same given id, the later checkpoint keeps this id. */
  #takeId(id: string): void {
    const before = this.#ids.get(id);
    if (!before) return;
    const renamed = { ...before, id: `${before.generation}-${before.version}` };
    this.checkpoints.set(before.version, renamed);
    this.#ids.set(renamed.id, renamed);
    if (this.latest === before) this.latest = renamed;
  }

  #addRestated({ records, ...from }: SnapshotEntry, entry: Entry): void {
    for (const each of records as readonly AgentRecord[]) this.#addRecord(each, { ...entry, ...from });
  }

  /** Starts reading at a snapshot. Earlier records in the same append are part of the snapshot. */
  #beginWith(record: SnapshotRecord, entry: Entry): void {
    const { checkpoint, checkpointId: id, parent, run } = record;
    const { lane, version } = checkpoint;
    const { generation, position } = entry;
    const runId = run.run;
    addValueReferences(record, this.valueBlobs);
    this.pruned = record.pruned;
    this.requests.asksAgain = record.asksAgain === true;
    this.statusState = statusAtSnapshot(record);
    this.#usage = checkpoint.usage;
    this.runRecords.set(runId, run);
    this.#addLane({ record: { kind: "lane", lane, keep: "all" }, runId }, this.#order++);
    this.addSnapshot(record);
    const [repeated, ...rest] = record.repeats ? (record.since ?? []) : [undefined, ...(record.since ?? [])];
    if (repeated) this.#addRestated(repeated, entry);
    const order = this.#order++;
    const point = { id, generation, version, position, runId, parent, record: checkpoint, order };
    this.#addPoint(point);
    this.base = baseOfSnapshot(record, point);
    for (const { lane: at, lanes } of record.earlier ?? []) this.earlierLanes.set(at, lanes);
    for (const restated of rest) if (restated) this.#addRestated(restated, entry);
    this.nextNumber = record.nextNumber;
    this.nextLane = record.nextLane;
    this.nextVersion = record.nextVersion ?? this.nextVersion;
    this.#usage = record.usage ?? this.#usage;
  }
}
