import type { PrunedGap } from "../internal/prunedGaps.ts";
import type { Pack } from "./Pack.ts";
import type { FileReservation } from "./status/FileReservation.ts";
import type { WaitingFor } from "./status/WaitingFor.ts";
import type { Slot } from "./valueCodec.ts";

/** Which visit of a node something belongs to: the version of the checkpoint it follows, and visits since. */
export type Visit = readonly [base: number, ordinal: number];

/** The agent was created as a task. The run that it is for stands beside it; it is queued. */
export interface TaskRecord {
  readonly kind: "task";
  readonly name: string;
  /** The higher one goes first. Absent: 0. */
  readonly priority?: number;
  readonly complexity?: "low" | "medium" | "high";
  /** The files that it names. Absent: none. */
  readonly reserves?: readonly FileReservation[];
}

/** A run begins, with its input; or one that had ended goes on, after a rollback to before its end. */
export interface RunRecord {
  readonly kind: "run";
  readonly run: string;
  readonly input: Slot;
  readonly at: number;
  /** The input is not known: that of its first checkpoint stands in its place. */
  readonly assumed?: true;
}

/**
 * A line of history begins, as the state at checkpoint `from`: all of it, only its messages, or nothing of it.
 * `from` is the parent of the lane's first checkpoint; absent for the first lane of a log.
 */
export interface LaneRecord {
  readonly kind: "lane";
  readonly lane: number;
  readonly from?: number;
  readonly keep: "all" | "history" | "nothing";
}

export interface MessageRecord {
  readonly kind: "message";
  readonly lane: number;
  readonly number: number;
  readonly message: Slot;
}

/** Numbered messages leave, others come in before number `before`, or at the end. */
export interface EditRecord {
  readonly kind: "edit";
  readonly lane: number;
  readonly remove: readonly (readonly [number, number])[];
  readonly insert: readonly { readonly number: number; readonly message: Slot }[];
  readonly before?: number;
  /** What leaves was shortened, and what comes in stands for it: whoever wants the originals passes over this edit. */
  readonly trim?: true;
}

/** One key of the typed storage; without `value` it is deleted. */
export interface StorageRecord {
  readonly kind: "storage";
  readonly lane: number;
  readonly key: string;
  readonly value?: Slot;
}

export interface SettingsRecord {
  readonly kind: "settings";
  readonly lane: number;
  readonly model: string;
  readonly parameters?: Slot;
  readonly tools: readonly string[];
}

export interface RequirementsRecord {
  readonly kind: "requirements";
  readonly lane: number;
  readonly files: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Where relative paths begin. Absent: nobody has looked at the environment. */
  readonly directory?: string;
  /** SHA-256 in hex of each file that was looked at, by path; `null`: it was not there. Absent: none was. */
  readonly hashes?: Readonly<Record<string, string | null>>;
}

export interface DecisionRecord {
  readonly kind: "decision";
  readonly lane: number;
  readonly at: number;
  readonly node: string;
  readonly decision: string;
  readonly reason?: string;
}

/** The structure of the strategy from here on; stored whole once for each fingerprint. */
export interface StructureRecord {
  readonly kind: "structure";
  readonly lane: number;
  readonly fingerprint: string;
  readonly structure?: Slot;
}

/** What a model answered in a visit. */
export interface AnswerRecord {
  readonly kind: "answer";
  readonly lane: number;
  readonly visit: Visit;
  readonly ordinal: number;
  /** The tool call in which the model was asked; absent: the node itself asked. */
  readonly within?: string;
  /** A digest of what was asked: model, parameters, tools, and how the visit had changed the history. */
  readonly asked?: string;
  readonly node: string;
  readonly message: Slot;
}

/** A tool call is about to have its effect. `input` is absent when it stands in the answer that asked for the call. */
export interface IntentRecord {
  readonly kind: "intent";
  readonly lane: number;
  readonly visit: Visit;
  readonly call: string;
  readonly tool: string;
  readonly effect: string;
  readonly node: string;
  readonly input?: Slot;
  /** For a call made by code: which of the visit. */
  readonly ordinal?: number;
  /** The tool call in which it was made; absent: the node itself made it. */
  readonly within?: string;
  /** An inverse was registered for the tool: a rollback without it is not whole. */
  readonly inverse?: true;
}

/**
 * A tool call has ended: with an output, with an error, with an output that cannot be stored (`lost`), or by moving the
 * run; or somebody settled what became of it. A call without side effect has no intent; its outcome then carries what the intent would have.
 */
export interface OutcomeRecord {
  readonly kind: "outcome";
  readonly lane: number;
  readonly visit: Visit;
  readonly call: string;
  readonly output?: Slot;
  readonly error?: { readonly message: string };
  readonly lost?: { readonly path: string; readonly reason: string };
  readonly moved?: true;
  /** The call waits for an answer to a request that it made: it is made again under the same id once that is there. */
  readonly suspended?: true;
  /** The call was aborted before its tool began: it may be made again under the same id. */
  readonly unstarted?: true;
  /** Who said what became of a call in doubt; absent: it ended so by itself. */
  readonly settled?: "probe" | "handler" | "outside";
  /** Settled: nobody knows whether it had its effect, and the run goes on. */
  readonly unknown?: true;
  /** Settled: it is to be made again under its id, whether it had its effect or not. */
  readonly retry?: true;
  readonly tool?: string;
  readonly effect?: string;
  readonly node?: string;
  readonly input?: Slot;
  readonly ordinal?: number;
  readonly within?: string;
  readonly inverse?: true;
}

/**
 * A point to go on from: the node that runs next and its input. Its parent is the checkpoint before it in its lane, or
 * the one its lane begins from. Absent: `id` when it is `<generation>-<version>`, `visit` when a new one begins here.
 */
export interface CheckpointRecord {
  readonly kind: "checkpoint";
  readonly lane: number;
  readonly version: number;
  readonly id?: string;
  readonly at: number;
  readonly node: string;
  readonly input: Slot;
  readonly inputType?: string;
  /** `input` is the output of `node`, whose edges threw or did not match: only they are evaluated again. */
  readonly unresolved?: true;
  readonly visit?: Visit;
  readonly iteration: number;
  readonly progress?: number;
  readonly summary?: string;
  /** The end of a run: `input` is its output. */
  readonly status?: "completed" | "cancelled";
  /** Why it was cancelled. */
  readonly reason?: string;
  /** What became of the output's verification. Absent: none was asked for. */
  readonly verification?: readonly Slot[];
  /** The paths of the files that the completed run has changed, a sorted list. Absent: none. */
  readonly files?: Slot;
  readonly move?: "rollback" | "execution_point" | "branch";
  /** Why it was made, where that does not follow from the rest: absent for one at the start or end of a run, after a node, or by a move. */
  readonly trigger?: string;
  /** For an execution point: the calls whose effects it left standing. */
  readonly standing?: readonly string[];
  /** Open parallel branches, one node and input each. */
  readonly branches?: readonly {
    readonly path: string;
    readonly node: string;
    readonly input: Slot;
    readonly lane: number;
    readonly status: string;
    readonly output?: Slot;
  }[];
}

/**
 * What a feature keeps on a line beside the agent's own state, such as the files it changed. A participant takes it into
 * account when the agent is rolled back, so it is kept as long as a kept checkpoint precedes it.
 */
export interface NoteRecord {
  readonly kind: "note";
  readonly lane: number;
  /** Whose it is: the key of a participant, or of a feature that keeps its own account. */
  readonly key: string;
  /** The tool call in which it was noted; absent: node code noted it. */
  readonly call?: string;
  readonly value: Slot;
  /** Contents that the value names by hash and that the log did not have before. Absent: none. */
  readonly packs?: readonly Pack[];
}

/**
 * A node asks somebody outside the run. Written when the run begins to wait, each time anew: what was replied to an earlier
 * record of the same request does not count any more.
 */
export interface RequestRecord {
  readonly kind: "request";
  readonly lane: number;
  readonly visit: Visit;
  readonly request: string;
  readonly node: string;
  /** Where in the visit it was made: the id it was given, or which one it is of the node or of a tool call. */
  readonly id?: string;
  readonly ordinal?: number;
  readonly within?: string;
  readonly prompt: Slot;
  /** JSON Schema of the answer. */
  readonly schema: Slot;
  readonly waitingFor: WaitingFor;
  /** Milliseconds since 1970. */
  readonly expiresAt?: number;
  /** Why the node refused the last answer. */
  readonly problems?: readonly { readonly path: string; readonly expected: string }[];
}

/** A request has its one answer, or none in time. */
export interface ReplyRecord {
  readonly kind: "reply";
  readonly lane: number;
  readonly request: string;
  readonly at: number;
  readonly answer?: Slot;
  readonly expired?: true;
}

/** The status of the run changed without a checkpoint. Runs begin in progress unless a record beside them says `queued`. */
export interface StatusRecord {
  readonly kind: "status";
  readonly run: string;
  readonly status: "queued" | "in_progress" | "failed" | "paused" | "waiting";
  readonly at: number;
  /** Paused: why. */
  readonly reason?: string;
  /** Paused: what whoever resumes it should know or do. */
  readonly instructions?: string;
  /** Waiting: the requests that nobody has answered, in the order in which they were made. */
  readonly requests?: readonly string[];
  /** Waiting: another request of the same wait has its answer, so that the run can go on. */
  readonly answered?: true;
  /** Waiting: what for, what the person was shown, and until when, in milliseconds since 1970. */
  readonly waitingFor?: WaitingFor;
  readonly prompt?: string;
  readonly until?: number;
  /** Failed: of what. */
  readonly error?: { readonly name: string; readonly message: string; readonly code?: string; readonly stack?: string };
  /** Failed for good. */
  readonly recoverable?: false;
  /** Queued again after a failure: how often by now. */
  readonly retry?: number;
}

/** A rollback begins: `calls` are reverted in this order; `closed` are all calls below the target, reverted or not. */
export interface RollbackRecord {
  readonly kind: "rollback";
  readonly target: number;
  readonly calls: readonly string[];
  readonly closed: readonly string[];
  /** Who takes back its own notes below the target, and by which steps. Absent: nobody has any there. */
  readonly participants?: readonly PlannedSteps[];
}

/** What one participant does in a rollback, decided before anything was taken back. */
export interface PlannedSteps {
  readonly key: string;
  /** A list, in the order in which the steps are taken. */
  readonly steps: Slot;
  /** Contents that the steps name by hash and that the log did not have before. Absent: none. */
  readonly packs?: readonly Pack[];
}

/** A participant has taken this one of its planned steps, counted from 0. */
export interface RollbackStepRecord {
  readonly kind: "rollback_step";
  readonly key: string;
  readonly step: number;
}

/** An inverse is about to run. */
export interface InverseRecord {
  readonly kind: "inverse";
  readonly call: string;
}

/** An inverse has ended; with `error` the call's effect stands, and the next rollback tries again. */
export interface RevertedRecord {
  readonly kind: "reverted";
  readonly call: string;
  readonly error?: { readonly message: string };
  /** Who said so of an inverse in doubt, or of one that fails; absent: it ended so by itself. */
  readonly settled?: "probe" | "handler" | "outside";
  /** Settled: it is not tried again. */
  readonly left?: true;
}

/** A rollback has ended; the checkpoint in the same append is where the run goes on. Runs that ended after `target` have not. */
export interface RollbackEndRecord {
  readonly kind: "rollback_end";
  readonly target: number;
}

/**
 * Everything up to a position is from here on what `restated` says: only what kept checkpoints need. Readers take that in
 * place of what stands there, whether or not its bytes are gone; of several of these the newest counts.
 */
export interface PrunedRecord {
  readonly kind: "pruned";
  readonly upTo: number;
  /** What may be removed, with the checksums on both sides, so that the chain stays whole. */
  readonly gaps: readonly PrunedGap[];
  readonly restated: readonly RestatedEntry[];
  /** The first number that no message had. */
  readonly nextNumber: number;
  /** Blobs that nothing refers to any more. */
  readonly blobs: readonly string[];
}

/** What is kept of an append, under its own position, generation and checksum. */
export interface RestatedEntry {
  readonly position: number;
  readonly generation: number;
  readonly checksum: string;
  readonly records: readonly AgentRecord[];
}

/** The state at the head, by value, so that reading may begin here. Made only where a visit begins. */
export interface SnapshotRecord {
  readonly kind: "snapshot";
  readonly checkpoint: CheckpointRecord;
  readonly checkpointId: string;
  readonly parent?: number;
  readonly parentId?: string;
  readonly run: RunRecord;
  /** When the agent's first run began, in milliseconds since 1970. */
  readonly createdAt: number;
  /** What the run and the checkpoint do not say of its status. Absent: it began when the run was asked for, as no task. */
  readonly life?: {
    readonly task?: TaskRecord;
    readonly startedAt?: number;
    readonly since?: number;
    readonly retries?: number;
  };
  readonly nextNumber: number;
  readonly nextLane: number;
  readonly history: readonly { readonly number: number; readonly message: Slot }[];
  readonly storage: Readonly<Record<string, Slot>>;
  readonly settings?: SettingsRecord;
  readonly requirements?: RequirementsRecord;
  readonly structure?: StructureRecord;
  /** Fingerprints whose structure stands somewhere before. */
  readonly structures: readonly string[];
  readonly decisions: readonly DecisionRecord[];
  /** Finished runs, with the version and position of their end. */
  readonly runs: Readonly<Record<string, readonly [version: number, position: number]>>;
  /** Of those, the ones that were cancelled. */
  readonly cancelled: readonly string[];
  /** Checkpoints with a given id, with their version and position. */
  readonly named: Readonly<Record<string, readonly [version: number, position: number]>>;
  /** The latest checkpoint when the log was pruned last, and how many were kept. Absent: it never was. */
  readonly pruned?: readonly [version: number, kept: number];
}

/** Every kind of record that a log holds. */
export type AgentRecord =
  | TaskRecord
  | RunRecord
  | LaneRecord
  | MessageRecord
  | EditRecord
  | StorageRecord
  | SettingsRecord
  | RequirementsRecord
  | DecisionRecord
  | StructureRecord
  | AnswerRecord
  | IntentRecord
  | OutcomeRecord
  | NoteRecord
  | CheckpointRecord
  | RequestRecord
  | ReplyRecord
  | StatusRecord
  | RollbackRecord
  | RollbackStepRecord
  | InverseRecord
  | RevertedRecord
  | RollbackEndRecord
  | PrunedRecord
  | SnapshotRecord;
