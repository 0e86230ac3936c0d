import type { CallView } from "../../inspect/view/CallView.ts";
import type { RequestView } from "../../inspect/view/RequestView.ts";
import type { AnswerView } from "../../inspect/view/StepView.ts";
import type { ShownValue } from "../../inspect/view/viewParts.ts";

/**
 * A stored or replayed run as plain JSON, for comparisons. Values are shown as in the views of
 * `agent-persistence/inspect`: dates as ISO 8601 text, big integers as digits, maps as lists of pairs, sets as lists,
 * bytes as `{ $bytes: <length> }`, and `undefined` as null. The content is from a log and is untrusted.
 */
export interface RunTrace {
  /** The version of this format. */
  readonly version: 1;
  readonly agentId: string;
  readonly runId: string;
  readonly status: "queued" | "in_progress" | "paused" | "waiting" | "completed" | "failed" | "cancelled";
  /** The reason of a pause or a cancellation. */
  readonly reason?: string;
  /** The error of a failed run. */
  readonly error?: { readonly name: string; readonly message: string; readonly code?: string };
  readonly input: unknown;
  /** The output of a completed run. */
  readonly output?: unknown;
  /** In ISO 8601. */
  readonly startedAt?: string;
  /** The time of all visits, without waits. Parallel visits count once. Omitted if unknown. */
  readonly durationMs?: number;
  /** The last checkpoint of the trace. Omitted if the run has no checkpoint. */
  readonly checkpointId?: string;
  /**
   * The node executions on the path to the checkpoint. Excludes executions that a rollback abandoned. Executions in
   * branches and sub-agents precede the execution of the node that contains them. Branches are sorted by name, so that
   * two traces of the same code have the same order.
   */
  readonly visits: readonly TraceVisit[];
  /** The node after the last checkpoint. Omitted for a finished run. */
  readonly nextNode?: string;
}

/** An execution of a node. */
export interface TraceVisit {
  /** The path of the node. */
  readonly node: string;
  /** The path of the branch, such as `both#facts`. Omitted outside of branches. */
  readonly branch?: string;
  /** The tool names of the enclosing sub-agents, outermost first. Omitted outside of sub-agents. */
  readonly agentPath?: readonly string[];
  /** `cut` if the execution has no checkpoint and no process continues it now. */
  readonly state: "ended" | "running" | "waiting" | "cut";
  /** The checkpoint at the end. Omitted for an unfinished execution. */
  readonly checkpointId?: string;
  /** In ISO 8601. */
  readonly startedAt?: string;
  /** The time since the previous checkpoint, or since the end of a wait. Omitted if unknown. */
  readonly durationMs?: number;
  /** The input of the next node, or the output of the run. */
  readonly output?: unknown;
  readonly requests: readonly TraceModelRequest[];
  readonly calls: readonly TraceCall[];
  readonly waits: readonly TraceWait[];
  /** The changes of the message history. */
  readonly messages: {
    readonly added: readonly TraceMessage[];
    /** The first and last number of removed messages, inclusive. */
    readonly removed: readonly (readonly [first: number, last: number])[];
  };
}

/** A message with its number in the agent's log. */
export interface TraceMessage {
  readonly number: number;
  readonly message: unknown;
  /** The number of the message before which this message was inserted. Omitted for a message at the end. */
  readonly before?: number;
}

/** A model request with its response. */
export interface TraceModelRequest extends Omit<AnswerView, "position" | "message"> {
  /**
   * The number of messages of this visit in the request. The request also contained the earlier history.
   */
  readonly newMessages: number;
  /** The message of the model. */
  readonly response: unknown;
}

/** A tool call with its outcome. */
export interface TraceCall extends Pick<CallView, "toolCallId" | "tool" | "effect" | "state" | "error" | "within"> {
  readonly input: unknown;
  /** The output of a successful call. */
  readonly output?: unknown;
}

/** A request for input or for an approval, a timer, or the receipt of an event. */
export interface TraceWait extends Pick<RequestView, "kind" | "state" | "rejection"> {
  readonly prompt: unknown;
  /** The tool of a call that required approval. */
  readonly tool?: string;
  readonly answer?: unknown;
}

/** Returns the value of a view, or the problem in its place. */
export function plainValue(shown: ShownValue): unknown {
  return "value" in shown ? shown.value : { $unreadable: shown.unreadable.code };
}

/** Returns whether a value consists of JSON values with at most `levels` levels. Fields may be `undefined`. */
export function isJson(value: unknown, levels: number): boolean {
  let open: ReadonlySet<unknown> = new Set([value]);
  for (let level = 0; open.size > 0; level++) {
    if (level > levels) return false;
    const items = [...open];
    if (!items.every((item) => jsonTypes.has(typeof item))) return false;
    open = new Set(items.flatMap((item) => (typeof item === "object" && item !== null ? Object.values(item) : [])));
  }
  return true;
}

const jsonTypes: ReadonlySet<string> = new Set(["string", "number", "boolean", "undefined", "object"]);
