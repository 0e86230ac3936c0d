import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { Entry } from "../../checkpoint/records/Entry.ts";
import type { IntentRecord, OutcomeRecord } from "../../checkpoint/records/callRecords.ts";
import type { ReplyRecord, RequestRecord } from "../../checkpoint/records/requestRecords.ts";
import { fileNoteKey } from "../../checkpoint/data/FileChange.ts";
import type { RollbackStepRecord } from "../../checkpoint/records/rollbackRecords.ts";
import { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import type { Damage, LogShape } from "../view/AgentView.ts";
import { StoredAt } from "./StoredAt.ts";

/** A record, and where it is. */
export interface Placed<Content extends AgentRecord = AgentRecord> {
  readonly record: Content;
  readonly position: number;
  readonly generation: number;
  readonly order: number;
}

/** A record of one of these kinds, and where it is. */
export type PlacedRecord<Kind extends AgentRecord["kind"] = AgentRecord["kind"]> = Placed<
  Extract<AgentRecord, { kind: Kind }>
>;

/** A tool call with its records, wherever they are. */
export interface IndexedCall {
  readonly call: string;
  readonly lane: number;
  /** Of its first record. */
  readonly position: number;
  readonly generation: number;
  readonly order: number;
  intent?: IntentRecord;
  outcome?: OutcomeRecord;
  /** Of its newest outcome. */
  end?: { readonly position: number; readonly order: number };
}

/** A request with its reply. */
export interface IndexedRequest {
  /** The newest time that it was asked. */
  record: RequestRecord;
  readonly position: number;
  readonly order: number;
  reply?: ReplyRecord;
}

/** What participants did in a rollback, by key. */
export type StepsDone = Map<string, { applied: number; readonly errors: string[] }>;

/** The appends of one owner. */
export interface Ownership {
  readonly generation: number;
  readonly position: number;
  lastPosition: number;
  readonly order: number;
  /** The first time that its records state. */
  at?: number;
  readonly tookOver: boolean;
  /** It did more than to answer, to name or to change the status. */
  worked: boolean;
}

/** A record that is a step of a timeline. */
export type EventRecord = PlacedRecord<"checkpoint" | "rollback" | "run" | "status" | "origin" | "custody" | "pruned">;

/** What a step of a timeline is made of. */
export type LogEvent = EventRecord | { readonly owner: Ownership; readonly before: number; readonly order: number };

const eventKinds: ReadonlySet<string> = new Set([
  "checkpoint",
  "rollback",
  "run",
  "status",
  "origin",
  "custody",
  "pruned",
]);

/** A log without its values, indexed for views. Entries come as `leanEntry` makes them, oldest first and from the start. */
export class AgentIndex {
  readonly log = new LogProjection();
  readonly events: LogEvent[] = [];
  readonly owners: Ownership[] = [];
  readonly calls = new Map<string, IndexedCall>();
  readonly requests = new Map<string, IndexedRequest>();
  /** The first time that each run was begun. */
  readonly runs = new Map<string, PlacedRecord<"run">>();
  readonly rollbacks: PlacedRecord<"rollback">[] = [];
  /** Which rollback a checkpoint is the end of. */
  readonly rollbackEnds = new Map<PlacedRecord<"rollback">, number>();
  readonly stepsDone = new Map<PlacedRecord<"rollback">, StepsDone>();
  /** The calls that have changed files, as they noted. */
  readonly fileCalls = new Set<string>();
  /** Why inverses failed, by call. */
  readonly undoErrors = new Map<string, string>();
  damage: Damage[] = [];
  /** The append that ends what was read. */
  end: { readonly position: number; readonly checksum: string } = { position: 0, checksum: "" };
  /** Where the last pruning is, and up to which position it restates the log. */
  pruning: { readonly position: number; readonly upTo: number } | undefined;
  #order = 0;
  #openRollback: PlacedRecord<"rollback"> | undefined;

  /** @param shape what the log is of. */
  constructor(
    readonly agentId: string,
    readonly shape: LogShape = "agent",
  ) {}

  add(entry: Entry): void {
    this.#addOwner(entry);
    const { position, generation } = entry;
    // A projection numbers records in the same way.
    let order = this.#order;
    for (const record of entry.records as readonly AgentRecord[]) {
      for (const value of valuesIn(record)) Object.assign(value, { order, lane: "lane" in record ? record.lane : -1 });
      this.#addRecord({ record, position, generation, order });
      order++;
    }
    this.#order = order;
    this.log.add(entry);
    this.end = { position, checksum: entry.checksum };
  }

  /** The order that the next record gets. */
  get nextOrder(): number {
    return this.#order;
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
      order: this.#order - 0.5,
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
        return this.#addReverted(record.call, record.error?.message);
      case "rollback_step":
        return this.#addStep(record);
      case "note":
        if (record.key === fileNoteKey && record.call !== undefined) this.fileCalls.add(record.call);
        return;
      default:
        if (eventKinds.has(record.kind)) this.#addEvent(placed as EventRecord);
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
      // One that begins again after a crash, or that keeps contents, is the same.
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

  #addReverted(call: string, error: string | undefined): void {
    if (error === undefined) this.undoErrors.delete(call);
    else this.undoErrors.set(call, error);
  }

  #addCall(record: IntentRecord | OutcomeRecord, { position, generation, order }: PlacedRecord): void {
    const { call, lane } = record;
    const known = this.calls.get(call) ?? { call, lane, position, generation, order };
    this.calls.set(call, { ...known, generation });
    this.#addToCall(this.calls.get(call) ?? known, record, position, order);
  }

  #addToCall(known: IndexedCall, record: IntentRecord | OutcomeRecord, position: number, order: number): void {
    if (record.kind === "intent") {
      known.intent = record;
      delete known.outcome;
      delete known.end;
    } else {
      known.outcome = record;
      known.end = { position, order };
    }
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

/** Whether a record is of a run: an owner that leaves none behind has only answered, say. */
function isWork(record: AgentRecord): boolean {
  return record.kind === "status" ? record.attempt !== undefined : !idleKinds.has(record.kind);
}

function valuesIn(record: AgentRecord): readonly StoredAt[] {
  if (record.kind === "edit")
    return record.insert.flatMap(({ message }) => (message instanceof StoredAt ? message : []));
  const fields = record.kind === "request" ? [...Object.values(record), record.approval?.input] : Object.values(record);
  return (fields as readonly unknown[]).filter((value) => value instanceof StoredAt);
}
