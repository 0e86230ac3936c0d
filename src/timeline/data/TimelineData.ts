import type { HiddenValues } from "../options/Redaction.ts";

export interface ListedPage {
  readonly id: string;
  readonly status: string;
  readonly at: string;
  readonly reason: string;
  readonly url: string;
}

/** The data of a timeline page. All values are text, so the page never parses log values. */
export interface TimelineData {
  readonly agent: TimelineAgent;
  /** In log order. */
  readonly items: readonly TimelineItem[];
}

export interface TimelineAgent {
  readonly id: string;
  readonly status: string;
  /** Why the agent stopped: its error message, or the request that it waits for. */
  readonly reason?: string;
  /** The key of the step at the head. Omitted without a checkpoint. */
  readonly head?: string;
  readonly model?: string;
  /** The kind of a log that does not belong to an agent, such as a thread. Its `status` is empty. */
  readonly shape?: string;
  /** The tokens of all responses on the page, or `undefined` if unknown. */
  readonly tokens?: number;
  /** The cost of these responses, or `undefined` without prices. */
  readonly cost?: Cost;
  /** The total duration of nodes in milliseconds. Overlaps count once, and waits and pauses are excluded. */
  readonly worked?: number;
  readonly checkpoints: number;
  /** The number of older checkpoints that the page omits. */
  readonly left: number;
  readonly hidden: HiddenValues;
  /** The time of the page in milliseconds since 1970. */
  readonly at: number;
}

export interface Cost {
  readonly amount: number;
  readonly currency: string;
  /** The number of responses without a price. */
  readonly unpriced: number;
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
  /** Milliseconds since 1970. Omitted if the log has no time. */
  readonly at?: number;
}

/** A checkpoint and the events that led to it. Without `checkpoint`, the events since the last checkpoint. */
export interface TimelineStep extends Item {
  readonly kind: "step";
  /** The id of the checkpoint. Omitted while the step is not saved. */
  readonly checkpoint?: string;
  readonly name?: string;
  readonly version?: number;
  /** The key of the previous step. Omitted for the first. */
  readonly parent?: string;
  /** The lane, which consecutive steps of a line share. */
  readonly lane: string;
  /** The part of the state of the previous lane with which the lane starts. Omitted if it starts with the whole state. */
  readonly keeps?: "history" | "state" | "nothing";
  /** The branch or sub-agent. Omitted on the main line. */
  readonly branch?: string;
  readonly run?: string;
  /** The node that ran. Omitted if no node ran, such as at the start. */
  readonly node?: string;
  readonly next?: string;
  /** The outcome of the run. Omitted if the run is not over. */
  readonly ended?: string;
  /** Marks the start of a run, a branch or a sub-agent. */
  readonly begins?: true;
  /** The origin of a step without a node: a rollback, an edit or a fork. */
  readonly move?: string;
  /** The keys of joined steps in addition to the parent. Omitted if empty. */
  readonly joins?: readonly string[];
  readonly by?: string;
  readonly reason?: string;
  readonly summary?: string;
  readonly runTokens?: number;
  readonly tokens?: number;
  readonly cost?: Cost;
  /** The duration of the node in milliseconds, without waits and pauses. */
  readonly took?: number;
  readonly iteration?: number;
  /** Set if a rollback or another move abandoned the step. `kept` means that effects of its calls remain. */
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
  /** The messages of earlier failed requests. */
  readonly failed: readonly string[];
}

/** The state of a call. `irreversible`: succeeded and cannot be undone. `cut`: not finished, and may be repeated. */
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
  /** Whether its effect remains. */
  readonly stands?: true;
}

/** A request to a person or another system. */
export interface TimelineWait {
  readonly id: string;
  readonly asked: string;
  /** The kind: input, or the approval of a call. */
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
  /** Ranges of removed message numbers, inclusive. */
  readonly removed: readonly (readonly [first: number, last: number])[];
  /** The input of the next node. Omitted if unchanged. */
  readonly input?: string;
  /** The new value of each changed key, or `null` for a removed key. */
  readonly storage: Readonly<Record<string, string | null>>;
  readonly settings?: string;
  readonly files: readonly TimelineFile[];
}

/** A message of the history. Its number is the same everywhere. */
export interface TimelineMessage {
  readonly number: number;
  /** The number of the following message. Omitted at the end. */
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

/** A change of a file. A side without text did not exist or cannot be shown, which `note` explains. */
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

/** A process that takes over the agent. `cut` if the previous owner had unfinished work. */
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

/** An update that replaces all items from number `from` on. */
export interface TimelineNews {
  readonly agent: TimelineAgent;
  readonly from: number;
  readonly items: readonly TimelineItem[];
}
