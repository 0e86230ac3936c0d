import type { RunSettings } from "../../agent/state/RunState.ts";
import type { LinePath } from "../../checkpoint/data/linePath.ts";
import type { RunLine } from "../../checkpoint/ids/toolCallId.ts";
import type { Message, AssistantMessage } from "../../checkpoint/messages/Message.ts";
import type { FailedRequest } from "../../checkpoint/records/callRecords.ts";
import type { CheckpointRecord } from "../../checkpoint/records/lineRecords.ts";
import type { Visit } from "../../checkpoint/records/Visit.ts";
import type { ModelUsage } from "../../checkpoint/tokenUsage/ModelUsage.ts";

/** The recorded model responses, calls and answers of one run, as plain data. */
export interface Recording {
  readonly agentId: string;
  readonly runId: string;
  readonly generation: number;
  /** The input of the run, in the form that the strategy accepted. */
  readonly input: unknown;
  readonly end: RecordedEnd;
  /** The tokens of all model requests of the run. `undefined` if unknown. */
  readonly usage?: ModelUsage;
  /** The messages that the run took over from the previous run. `undefined` if the run started with a new history. */
  readonly history?: readonly Message[];
  readonly line: LineRecording;
}

/** The last recorded status of a run, with the output or the error of a finished run. */
export interface RecordedEnd {
  readonly status: string;
  readonly output?: unknown;
  readonly error?: { readonly name: string; readonly message: string; readonly code?: string };
}

export interface LineRecording {
  /** The lanes of the line, each without its abandoned end. Never empty. */
  readonly parts: readonly RecordedPart[];
  readonly answers: readonly RecordedResponse[];
  readonly calls: readonly RecordedToolCall[];
  readonly requests: readonly RecordedInput[];
  /** The lines on which calls of this line can have been made, the newest first. */
  readonly lines: readonly RunLine[];
  /** The enclosing branches and sub-agents. `undefined` if unknown. */
  readonly path?: LinePath;
}

/** A part of a line between two changes from outside, such as a rollback. */
export interface RecordedPart {
  readonly line: RunLine;
  /** The checkpoint that starts the part. `undefined` for the start of a line. */
  readonly start?: RecordedStart;
  /** The model settings with which a resume continued here. `undefined` if the resume kept the settings. */
  readonly settings?: RunSettings;
  /** The checkpoints after the start, oldest first. */
  readonly checkpoints: readonly RecordedCheckpoint[];
  /** The branches and sub-agents that started on the lane of this part. */
  readonly nested: readonly RecordedNested[];
}

/** The position at which a part starts. */
export interface RecordedStart {
  /** `resume`: a process continued at a checkpoint for another node, or with other model settings. */
  readonly move: NonNullable<CheckpointRecord["move"]> | "resume";
  readonly checkpointId: string;
  readonly version: number;
  readonly nodeId: string;
  readonly input: unknown;
  readonly unresolved?: true;
  /** Set if the next node merges the results of branches. */
  readonly joined?: number;
  readonly visit: Visit;
  /** The state of the line. `undefined` if the line continues with its current state. */
  readonly state?: RecordedState;
}

/** The state of a line at a checkpoint. */
export interface RecordedState extends Partial<RunSettings> {
  readonly messages: readonly Message[];
  readonly storage: readonly (readonly [key: string, value: unknown])[];
  readonly iteration: number;
  readonly decisions: readonly { readonly decision: string; readonly reason?: string }[];
}

export interface RecordedChange {
  /** The messages since the change before. */
  readonly added: readonly Message[];
  /** The whole history. `undefined` if the line only added messages. */
  readonly history?: readonly Message[];
  /** The history after its trimming. `undefined` if it was not trimmed. */
  readonly trimmed?: readonly Message[];
}

/** A change of the history, and the trim after it. */
export type RecordedTrim = RecordedChange & Required<Pick<RecordedChange, "trimmed">>;

/**
 * A checkpoint of the recorded run. `added` and `history` are the changes since the last trim before the checkpoint.
 */
export interface RecordedCheckpoint extends Pick<RecordedChange, "added" | "history"> {
  readonly checkpointId: string;
  readonly version: number;
  readonly nodeId: string;
  /** The input of the node, or the output at the end of a line. */
  readonly input: unknown;
  readonly iteration: number;
  /** True if a running node made the checkpoint. Visits are not counted from such a checkpoint. */
  readonly within?: true;
  /** The visit of a checkpoint that saves the start of a running node. */
  readonly visit?: Visit;
  /** True if a trigger made the checkpoint while the node ran. */
  readonly triggered?: true;
  /** True after branches have ended, before the node that merges them. */
  readonly joined?: true;
  readonly unresolved?: true;
  /** The trims since the previous checkpoint, oldest first. `undefined` without trims. */
  readonly trims?: readonly RecordedTrim[];
}

/** A nested line: a branch of a parallel node, or the sub-agent of a call. */
export interface RecordedNested {
  readonly fork?: number;
  readonly branch?: string;
  readonly call?: string;
  readonly line: LineRecording;
}

/** A result that a node execution has requested. */
interface RecordedResult {
  readonly visit: Visit;
  /** The number among the requests of the node, or among the calls of its code. */
  readonly ordinal?: number;
  readonly within?: string;
  readonly nodeId: string;
  readonly order: number;
}

/** A response of a model, by the place of its request. */
export interface RecordedResponse extends RecordedResult {
  readonly ordinal: number;
  /** The digest of the request. `undefined` for requests of another runtime, and of earlier code. */
  readonly asked?: string;
  readonly message: AssistantMessage;
  readonly usage?: ModelUsage;
  readonly finishReason?: string;
  /** The failed requests before this response. */
  readonly failed: readonly RecordedFailure[];
}

export interface RecordedFailure extends Omit<FailedRequest, "asked"> {
  /** The digest of the request. `undefined` in a recording with hidden values. */
  readonly asked?: string;
}

/** A tool call. A call of a model has no `ordinal`. */
export interface RecordedToolCall extends RecordedResult {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly effect: string;
  readonly input: unknown;
  /** `undefined` if the call did not end. */
  readonly outcome?: RecordedOutcome;
}

/** The outcome of a call that a replay returns. */
export interface RecordedOutcome {
  readonly output?: unknown;
  /** The changes that the tool made to the state of its run, as {@link repeatChanges} takes them. */
  readonly changes?: unknown;
  readonly error?: { readonly message: string; readonly name?: string };
  readonly failedCalls?: readonly string[];
  readonly lost?: { readonly path: string; readonly reason: string };
  readonly unknown?: true;
}

/** A request for input, an approval, a timer or the receipt of an event, with its end. */
export interface RecordedInput extends RecordedResult {
  readonly requestId: string;
  readonly id?: string;
  readonly question?: string;
  readonly prompt: string;
  /** The call that needed the approval. */
  readonly approval?: string;
  readonly reply?: RecordedReply;
}

/** The end of a request. */
export interface RecordedReply {
  readonly answer?: unknown;
  readonly rejected?: string;
  readonly by?: string;
  /** When the request expired, in ISO 8601. */
  readonly expiredAt?: string;
}

export function madeWithin(record: CheckpointRecord): boolean {
  return record.visit !== undefined || isForeseen(record);
}

/** Returns whether a running node made a checkpoint that continues with another visit. */
export function isForeseen({ trigger, visit, move }: CheckpointRecord): boolean {
  return trigger === "asked_for" && visit === undefined && move === undefined;
}
