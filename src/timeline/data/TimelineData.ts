import type { HiddenValues } from "../options/HiddenValues.ts";

/** What a timeline page shows of one agent. All values are text already: the page never takes apart what a log holds. */
export interface TimelineData {
  readonly agent: TimelineAgent;
  /** In the order of the log. */
  readonly items: readonly TimelineItem[];
}

/** The agent itself: what the top of the page says. */
export interface TimelineAgent {
  readonly id: string;
  readonly status: string;
  /** Why it stopped: the message of its error, or what it waits for. Absent: nothing is said. */
  readonly reason?: string;
  /** The key of the step at the head. Absent: the agent has no checkpoint. */
  readonly head?: string;
  readonly model?: string;
  /** What the log is of if it is no agent's, such as a thread or a session. Then `status` is empty. */
  readonly shape?: string;
  /** Tokens of all answers on the page. `undefined` if none is known. */
  readonly tokens?: number;
  /** The cost of these answers. `undefined` without prices. */
  readonly cost?: Cost;
  /** How long nodes ran in all, in milliseconds. Nodes that ran side by side count once, waits and pauses do not count. */
  readonly worked?: number;
  /** How many checkpoints the log has. */
  readonly checkpoints: number;
  /** How many older ones are left out. */
  readonly left: number;
  readonly hidden: HiddenValues;
  /** When the page was made, in milliseconds since 1970. */
  readonly at: number;
}

/** An amount of money. */
export interface Cost {
  readonly amount: number;
  readonly currency: string;
  /** How many answers have no price. */
  readonly unpriced: number;
}

/** One thing that happened. Its `key` stays the same while the agent goes on. */
export type TimelineItem =
  | TimelineStep
  | TimelineRun
  | TimelineRollback
  | TimelineOwner
  | TimelineNote
  | TimelineDamage;

interface Item {
  readonly key: string;
  /** Milliseconds since 1970. Absent: the log does not say. */
  readonly at?: number;
}

/** A checkpoint and what led to it; without `checkpoint` what has happened since the last one. */
export interface TimelineStep extends Item {
  readonly kind: "step";
  /** The id of the checkpoint. Absent: it is not saved yet. */
  readonly checkpoint?: string;
  readonly name?: string;
  readonly version?: number;
  /** The key of the step that it follows. Absent: it is the first. */
  readonly parent?: string;
  /** The line that it is on: steps of a line that follow each other share it. */
  readonly lane: string;
  /** Its branch or sub-agent. Absent: the main line. */
  readonly branch?: string;
  readonly run?: string;
  /** The node that ran. Absent: none did, such as before the first. */
  readonly node?: string;
  /** The node that runs next. */
  readonly next?: string;
  /** The run is over: how. */
  readonly ended?: string;
  /** A run begins here, or a branch or a sub-agent. */
  readonly begins?: true;
  /** How the step came to be, where no node made it: a rollback, an edit, a fork. */
  readonly move?: string;
  /** The keys of the steps that were joined here, besides the parent. Absent: none were. */
  readonly joins?: readonly string[];
  readonly by?: string;
  readonly reason?: string;
  readonly summary?: string;
  /** Tokens of the run up to here. */
  readonly runTokens?: number;
  /** Tokens of the answers of this step. */
  readonly tokens?: number;
  /** What these answers cost. */
  readonly cost?: Cost;
  /** How long the node ran, in milliseconds, without the time that the agent waited or was paused. */
  readonly took?: number;
  readonly iteration?: number;
  /** A rollback or another move left it behind. `kept`: effects of its calls stay. */
  readonly left?: "reverted" | "kept";
  /** It has no checkpoint: it runs, waits, or was cut off. */
  readonly open?: "running" | "waiting" | "cut";
  readonly answers: readonly TimelineAnswer[];
  /** Groups in order; the calls of a group ran side by side. */
  readonly calls: readonly (readonly TimelineCall[])[];
  readonly waits: readonly TimelineWait[];
  readonly changes: TimelineChanges;
  /** The records of the log, each as JSON. */
  readonly records: readonly string[];
}

/** What the model said. */
export interface TimelineAnswer {
  readonly text: string;
  readonly model?: string;
  readonly finish?: string;
  readonly tokens?: number;
  /** Requests that failed before, each with its message. */
  readonly failed: readonly string[];
}

/**
 * The state of a call as the page shows it. `irreversible`: it succeeded, and nothing takes its effect back. `cut`: it began
 * and did not end, and may be made again.
 */
export type CallState =
  | "succeeded"
  | "failed"
  | "in_doubt"
  | "waiting"
  | "reverted"
  | "irreversible"
  | "running"
  | "cut";

/** A tool call. */
export interface TimelineCall {
  readonly id: string;
  readonly tool: string;
  readonly state: CallState;
  readonly effect?: string;
  readonly input: string;
  /** The output, or the message of the error. Absent: it has neither. */
  readonly output?: string;
  /** More about its state, such as who settled it. */
  readonly note?: string;
  /** Its effect stands. */
  readonly stands?: true;
}

/** A question to somebody outside. */
export interface TimelineWait {
  readonly id: string;
  readonly asked: string;
  /** What kind: input, or the approval of a call. */
  readonly what: string;
  readonly askedAt?: number;
  readonly state: "open" | "answered" | "rejected" | "expired" | "left";
  readonly answer?: string;
  readonly by?: string;
  readonly answeredAt?: number;
}

/** What a step changed of the state that it follows. */
export interface TimelineChanges {
  readonly messages: readonly TimelineMessage[];
  /** First and last number of messages that are gone. */
  readonly removed: readonly (readonly [first: number, last: number])[];
  /** What the next node gets. Absent: as before. */
  readonly input?: string;
  /** The new value of each changed key; `null`: it is gone. */
  readonly storage: Readonly<Record<string, string | null>>;
  /** Storage begins empty: what the state before had is gone. */
  readonly storageAnew?: true;
  readonly settings?: string;
  readonly files: readonly TimelineFile[];
}

/** A message of the history. The same message has the same number everywhere. */
export interface TimelineMessage {
  readonly number: number;
  /** The number of the message that it stands before. Absent: it is at the end. */
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

/** A change of a file. A side without text was not there, or is no text that can be shown: `note` says which. */
export interface TimelineFile {
  readonly path: string;
  readonly change: "created" | "modified" | "deleted";
  readonly before?: string;
  readonly after?: string;
  readonly note?: string;
}

/** A run begins. */
export interface TimelineRun extends Item {
  readonly kind: "run";
  readonly run: string;
  readonly input: string;
}

/** A rollback: `target` is the step that it went back to. A redo goes to a step that was left. */
export interface TimelineRollback extends Item {
  readonly kind: "rollback";
  readonly target?: string;
  /** The step at which it began. */
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

/** A process takes the agent. `cut` if the owner before had not ended its work. */
export interface TimelineOwner extends Item {
  readonly kind: "owner";
  readonly generation: number;
  readonly process?: string;
  readonly cut: boolean;
}

/** The status changed, or something happened to the log itself. */
export interface TimelineNote extends Item {
  readonly kind: "note";
  readonly title: string;
  readonly text?: string;
  readonly failed?: true;
  readonly records?: readonly string[];
}

/** A place of the log that cannot be read. */
export interface TimelineDamage extends Item {
  readonly kind: "damage";
  readonly text: string;
}

/** What has changed since: the items from number `from` on are these now. */
export interface TimelineNews {
  readonly agent: TimelineAgent;
  readonly from: number;
  readonly items: readonly TimelineItem[];
}
