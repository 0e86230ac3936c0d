import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { Entry } from "../../checkpoint/records/Entry.ts";
import type { IntentRecord, OutcomeRecord } from "../../checkpoint/records/callRecords.ts";
import type { ReplyRecord, RequestRecord } from "../../checkpoint/records/requestRecords.ts";
import { fileNoteKey } from "../../checkpoint/data/FileChange.ts";
import type { RecordedCall } from "../../checkpoint/state/AgentState.ts";
import { withRecord } from "../../checkpoint/state/StateFold.ts";
import type { RollbackStepRecord } from "../../checkpoint/records/rollbackRecords.ts";
import { LogProjection, type OrderedRecord } from "../../checkpoint/state/LogProjection.ts";
import type { LogShape } from "../view/AgentView.ts";
import type { Damage } from "../view/viewParts.ts";
import { StoredAt } from "./leanRecord.ts";

interface Placed<Content> extends OrderedRecord {
  readonly record: Content & AgentRecord;
  readonly generation: number;
}

export type PlacedRecord<Kind extends AgentRecord["kind"] = AgentRecord["kind"]> = Placed<
  Extract<AgentRecord, { kind: Kind }>
>;

/** A call with the place of its first record. */
export interface IndexedCall extends RecordedCall {
  readonly lane: number;
  readonly position: number;
  readonly generation: number;
  /** The place of the newest outcome in the log. */
  readonly end: { readonly position: number; readonly order: number } | undefined;
}

export interface IndexedRequest {
  record: RequestRecord;
  readonly position: number;
  readonly order: number;
  reply?: ReplyRecord;
}

/** The progress of each participant in a rollback, by participant key. */
export type StepsDone = Map<string, { applied: number; readonly errors: string[] }>;

export interface Ownership {
  readonly generation: number;
  readonly position: number;
  lastPosition: number;
  readonly order: number;
  /** The first time in the owner's records. */
  at?: number;
  readonly tookOver: boolean;
  /** Whether the owner ran the agent. Answers to requests, names of checkpoints and status changes do not count. */
  worked: boolean;
}

const eventKinds = ["checkpoint", "rollback", "run", "status", "origin", "custody", "pruned"] as const;

export type EventRecord = PlacedRecord<(typeof eventKinds)[number]>;

export type LogEvent = EventRecord | { readonly owner: Ownership; readonly before: number; readonly order: number };

/** Indexes a log for views, without its values. Expects all entries from `leanEntry`, oldest first. */
export class AgentIndex {
  readonly log = new LogProjection();
  readonly events: LogEvent[] = [];
  readonly owners: Ownership[] = [];
  readonly calls = new Map<string, IndexedCall>();
  readonly requests = new Map<string, IndexedRequest>();
  readonly runs = new Map<string, PlacedRecord<"run">>();
  readonly rollbacks: PlacedRecord<"rollback">[] = [];
  /** Maps each rollback to the version of the checkpoint that ended it. */
  readonly rollbackEnds = new Map<PlacedRecord<"rollback">, number>();
  readonly stepsDone = new Map<PlacedRecord<"rollback">, StepsDone>();
  /** The ids of the calls that recorded file changes. */
  readonly fileCalls = new Set<string>();
  /** Maps the id of a call to the error of its inverse. */
  readonly undoErrors = new Map<string, string>();
  readonly damage: Damage[] = [];
  /** The errors that `damage` describes. */
  readonly errors: unknown[] = [];
  end: { readonly position: number; readonly checksum: string } = { position: 0, checksum: "" };
  /** The position of the last pruning, and the last position of the pruned part. */
  pruning: { readonly position: number; readonly upTo: number } | undefined;
  /** The order number of the next record, as in `LogProjection`. */
  nextOrder = 0;
  #openRollback: PlacedRecord<"rollback"> | undefined;

  constructor(
    readonly agentId: string,
    readonly shape: LogShape = "agent",
  ) {}

  add(entry: Entry): void {
    this.#addOwner(entry);
    const { position, generation } = entry;
    for (const record of entry.records as readonly AgentRecord[]) {
      const order = this.nextOrder++;
      for (const value of valuesIn(record)) Object.assign(value, { order, lane: "lane" in record ? record.lane : -1 });
      this.#addRecord({ record, position, generation, order });
    }
    this.log.add(entry);
    this.end = { position, checksum: entry.checksum };
  }

  #addOwner({ generation, position, records }: Entry): void {
    const last = this.owners.at(-1);
    const owner = last?.generation === generation ? last : this.#newOwner(generation, position, last);
    const added = records as readonly AgentRecord[];
    const at = added.map((record) => ("at" in record ? record.at : undefined)).find((time) => time !== undefined);
    if (at !== undefined) owner.at ??= at;
    owner.lastPosition = position;
    owner.worked ||= added.some(isWork);
  }

  #newOwner(generation: number, position: number, last: Ownership | undefined): Ownership {
    const { statusState, rollback } = this.log;
    const isRunning = last?.worked === true && statusState.current?.status === "in_progress";
    const owner: Ownership = {
      generation,
      position,
      lastPosition: position,
      order: this.nextOrder - 0.5,
      tookOver: rollback !== undefined || isRunning,
      worked: false,
    };
    this.owners.push(owner);
    if (last) this.events.push({ owner, before: last.generation, order: owner.order });
    return owner;
  }

  #addRecord(placed: PlacedRecord): void {
    const { record } = placed;
    switch (record.kind) {
      case "intent":
      case "outcome":
        return this.#addCall(record, placed);
      case "request":
      case "reply":
        return this.#addRequest(record, placed);
      case "reverted":
        if (record.error) this.undoErrors.set(record.call, record.error.message);
        else this.undoErrors.delete(record.call);
        return;
      case "rollback_step":
        return this.#addStep(record);
      case "note":
        if (record.key === fileNoteKey && record.call !== undefined) this.fileCalls.add(record.call);
        return;
      default:
        if (eventKinds.some((kind) => kind === record.kind)) this.#addEvent(placed as EventRecord);
    }
  }

  #addStep({ key, error }: RollbackStepRecord): void {
    if (!this.#openRollback) return;
    const done: StepsDone = this.stepsDone.get(this.#openRollback) ?? new Map();
    this.stepsDone.set(this.#openRollback, done);
    const { applied = 0, errors = [] } = done.get(key) ?? {};
    if (error) errors.push(error.message);
    done.set(key, { applied: error ? applied : applied + 1, errors });
  }

  #addEvent(placed: EventRecord): void {
    if (placed.record.kind === "run") {
      if (this.runs.has(placed.record.run)) return;
      this.runs.set(placed.record.run, placed as PlacedRecord<"run">);
    } else if (placed.record.kind === "rollback") {
      // After a crash, a rollback can write its record again.
      const open = this.#openRollback;
      if (open?.record.target === placed.record.target && open.record.base === placed.record.base) return;
      this.#openRollback = placed as PlacedRecord<"rollback">;
      this.rollbacks.push(this.#openRollback);
    } else if (placed.record.kind === "checkpoint" && placed.record.move === "rollback" && this.#openRollback) {
      this.rollbackEnds.set(this.#openRollback, placed.record.version);
      this.#openRollback = undefined;
    }
    this.events.push(placed);
  }

  #addCall(record: IntentRecord | OutcomeRecord, { position, generation, order }: PlacedRecord): void {
    const known = this.calls.get(record.call);
    const first = known ?? { lane: record.lane, position, order };
    const call = withRecord(known, record, first.order);
    const end = record.kind === "outcome" ? { position, order } : undefined;
    this.calls.set(record.call, { ...call, lane: first.lane, position: first.position, generation, end });
  }

  #addRequest(record: RequestRecord | ReplyRecord, { position, order }: PlacedRecord): void {
    const known = this.requests.get(record.request);
    if (record.kind === "request") {
      if (known) known.record = record;
      else this.requests.set(record.request, { record, position, order });
    } else if (known) known.reply = record;
  }
}

const idleKinds: ReadonlySet<AgentRecord["kind"]> = new Set(["reply", "name", "custody"]);

/** Whether a record belongs to a run. An owner without such records has not run the agent. */
function isWork(record: AgentRecord): boolean {
  return record.kind === "status" ? record.attempt !== undefined : !idleKinds.has(record.kind);
}

function valuesIn(record: AgentRecord): readonly StoredAt[] {
  if (record.kind === "edit")
    return record.insert.flatMap(({ message }) => (message instanceof StoredAt ? message : []));
  const fields = record.kind === "request" ? [...Object.values(record), record.approval?.input] : Object.values(record);
  return (fields as readonly unknown[]).filter((value) => value instanceof StoredAt);
}
