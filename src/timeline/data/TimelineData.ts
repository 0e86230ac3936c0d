import type { HiddenValues } from "../options/Redaction.ts";
import type { RunCost } from "../options/TimelineOptions.ts";

export interface ListedPage {
  readonly id: string;
  readonly status: string;
  readonly at: string;
  readonly reason: string;
  readonly url: string;
}

/** The data of a timeline page. All values are text, so that the page never parses values from a log. */
export interface TimelineData {
  readonly agent: TimelineAgent;
  /** In log order. */
  readonly items: readonly TimelineItem[];
}

export interface TimelineAgent {
  readonly id: string;
  readonly status: string;
  /** Why the agent stopped: its error, or the request for which it waits. */
  readonly reason?: string;
  /** The key of the step at the head. Omitted without a checkpoint. */
  readonly head?: string;
  readonly model?: string;
  /** The kind of a log that belongs to no agent, such as `thread`. Its `status` is empty. */
  readonly shape?: string;
  /** The tokens of all responses on the page. `undefined` if unknown. */
  readonly tokens?: number;
  /** The cost of all responses on the page. `undefined` without prices. */
  readonly cost?: RunCost;
  /** The total time of the nodes in milliseconds, without waits and pauses. Times of parallel nodes count once. */
  readonly worked?: number;
  readonly checkpoints: number;
  /** The number of older checkpoints that the page omits. */
  readonly left: number;
  readonly hidden: HiddenValues;
  /** When the page was created, in milliseconds since 1970. */
  readonly at: number;
}

/** An entry of the timeline. Its `key` stays the same while the agent runs. */
export type TimelineItem =
  | TimelineStep
  | TimelineRun
  | TimelineRollback
  | TimelineOwner
  | TimelineNote
  | TimelineDamage;

interface Item {
  readonly key: string;
  /** Milliseconds since 1970. Omitted if the log contains no time. */
  readonly at?: number;
}

/** A checkpoint and the events before it. Without `checkpoint`, the events since the last checkpoint. */
export interface TimelineStep extends Item {
  readonly kind: "step";
  /** The id of the checkpoint. Omitted if the step has no checkpoint yet. */
  readonly checkpoint?: string;
  readonly name?: string;
  readonly version?: number;
  /** The key of the previous step. Omitted for the first. */
  readonly parent?: string;
  /** The number of the lane, which consecutive steps share. */
  readonly lane: string;
  /** The part of the previous lane's state with which the lane starts. Omitted if it starts with the whole state. */
  readonly keeps?: "history" | "state" | "nothing";
  /** The path of the branch or sub-agent. Omitted for the run itself. */
  readonly branch?: string;
  readonly run?: string;
  /** The node that ran. Omitted if no node ran, for example at the start. */
  readonly node?: string;
  readonly next?: string;
  /** The outcome of the run. Omitted if the step does not end the run. */
  readonly ended?: string;
  /** True at the start of a run, a branch or a sub-agent. */
  readonly begins?: true;
  /** The cause of a step without a node, such as a rollback, an edit or a fork. */
  readonly move?: string;
  /** The keys of the joined branches' last steps. Omitted if none. */
  readonly joins?: readonly string[];
  readonly by?: string;
  readonly reason?: string;
  readonly summary?: string;
  readonly runTokens?: number;
  readonly tokens?: number;
  readonly cost?: RunCost;
  /** The duration of the node in milliseconds, without waits and pauses. */
  readonly took?: number;
  readonly iteration?: number;
  /** Set if a rollback or another move abandoned the step. `kept`: effects of its calls remain. */
  readonly left?: "reverted" | "kept";
  /** Set for a step without a checkpoint: it runs, waits, or was interrupted. */
  readonly open?: "running" | "waiting" | "cut";
  readonly answers: readonly TimelineAnswer[];
  /** Groups of concurrent calls, in order. */
  readonly calls: readonly (readonly TimelineCall[])[];
  readonly waits: readonly TimelineWait[];
  readonly changes: TimelineChanges;
  readonly records: readonly string[];
}

export interface TimelineAnswer {
  readonly text: string;
  readonly model?: string;
  readonly finish?: string;
  readonly tokens?: number;
  /** The error messages of earlier failed requests. */
  readonly failed: readonly string[];
}

/** The state of a call. `irreversible`: succeeded and cannot be reverted. `cut`: not finished, and may be repeated. */
export type TimelineCallState =
  | "succeeded"
  | "failed"
  | "in_doubt"
  | "waiting"
  | "reverted"
  | "irreversible"
  | "running"
  | "cut";

export interface TimelineCall {
  readonly id: string;
  readonly tool: string;
  readonly state: TimelineCallState;
  readonly effect?: string;
  readonly input: string;
  /** The output or the error message, if any. */
  readonly output?: string;
  /** Details of the state, such as who settled the call. */
  readonly note?: string;
  /** True if the effect of the call remains. */
  readonly stands?: true;
}

export interface TimelineWait {
  readonly id: string;
  readonly asked: string;
  /** The kind of the request, such as input or approval. */
  readonly what: string;
  readonly askedAt?: number;
  readonly state: "open" | "answered" | "rejected" | "expired" | "fired" | "left";
  readonly answer?: string;
  readonly by?: string;
  readonly answeredAt?: number;
}

/** The changes of a step compared with the previous state. */
export interface TimelineChanges {
  readonly messages: readonly TimelineMessage[];
  /** The first and last numbers of removed messages, inclusive. */
  readonly removed: readonly (readonly [first: number, last: number])[];
  /** The input of the next node. Omitted if unchanged. */
  readonly input?: string;
  /** The new value of each changed key, or `null` for a removed key. */
  readonly storage: Readonly<Record<string, string | null>>;
  readonly settings?: string;
  readonly files: readonly TimelineFile[];
}

/** A message of the history. It has the same number in all steps. */
export interface TimelineMessage {
  readonly number: number;
  /** The number of the message before which it was inserted. Omitted at the end. */
  readonly before?: number;
  readonly role: string;
  readonly parts: readonly TimelinePart[];
}

export interface TimelinePart {
  readonly type: "text" | "reasoning" | "call" | "result" | "file";
  readonly text: string;
  readonly tool?: string;
  readonly call?: string;
  readonly failed?: true;
}

/** A change of a file. Without `before` or `after`, that text did not exist or cannot be shown, as `note` explains. */
export interface TimelineFile {
  readonly path: string;
  readonly change: "created" | "modified" | "deleted";
  readonly before?: string;
  readonly after?: string;
  readonly note?: string;
}

export interface TimelineRun extends Item {
  readonly kind: "run";
  readonly run: string;
  readonly input: string;
}

/** A rollback to the step `target`. In a redo, an earlier move had abandoned this step. */
export interface TimelineRollback extends Item {
  readonly kind: "rollback";
  readonly target?: string;
  readonly from?: string;
  readonly redo?: true;
  readonly finished: boolean;
  readonly calls: readonly RevertedCall[];
  readonly records: readonly string[];
}

export interface RevertedCall {
  readonly id: string;
  readonly tool: string;
  readonly result: "reverted" | "failed" | "irreversible" | "skipped" | "pending";
  readonly reason?: string;
}

/** A new owner of the agent. `cut` if the previous owner left unfinished work. */
export interface TimelineOwner extends Item {
  readonly kind: "owner";
  readonly generation: number;
  readonly cut: boolean;
}

export interface TimelineNote extends Item {
  readonly kind: "note";
  readonly title: string;
  readonly text?: string;
  readonly failed?: true;
  readonly records?: readonly string[];
}

export interface TimelineDamage extends Item {
  readonly kind: "damage";
  readonly text: string;
}

/** An update of an open page. It replaces all items from number `from` on. */
export interface TimelineNews {
  readonly agent: TimelineAgent;
  readonly from: number;
  readonly items: readonly TimelineItem[];
}
