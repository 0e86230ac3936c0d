import type { ModelUsage } from "../tokenUsage/ModelUsage.ts";
import { type StoredValue, envelopeKeyOf } from "../values/valueCodec.ts";
import type { Renames } from "./lineRecords.ts";
import type { Visit } from "./Visit.ts";

export interface AnswerRecord {
  readonly kind: "answer";
  readonly lane: number;
  readonly visit: Visit;
  readonly ordinal: number;
  readonly within?: string;
  /** A digest of the request: the model, its parameters, the tools, and the changes of the message history. */
  readonly asked?: string;
  readonly node: string;
  readonly message: StoredValue;
  readonly usage?: ModelUsage;
  readonly finish?: string;
  readonly failed?: readonly FailedRequest[];
  /** The renames of tools by later migrations, which apply to `message`. */
  readonly renames?: readonly Renames["tools"][];
}

export interface ModelFailure {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly fields?: Readonly<Record<string, string | number | boolean>>;
}

export interface FailedRequest {
  readonly asked: string;
  /** The key of the last result before the failure. Omitted if no result came before. */
  readonly after?: string;
  readonly error: ModelFailure;
}

interface CallFacts {
  readonly tool: string;
  readonly effect: string;
  readonly node: string;
  /** The input of the call. `undefined` if the model response that requested the call contains the input. */
  readonly input?: StoredValue;
  /** The number of the call in the node execution, for a call that code made. */
  readonly ordinal?: number;
  readonly within?: string;
  /** True if an inverse was registered. If the inverse is not registered any more, a rollback stops at this call. */
  readonly inverse?: true;
}

/** Written before a tool call takes effect. */
export interface IntentRecord extends CallFacts {
  readonly kind: "intent";
  readonly lane: number;
  readonly visit: Visit;
  readonly call: string;
}

/**
 * The end of a tool call: an output, an error, an output that could not be stored, or a move of the run. Also records
 * how a call in doubt was settled. A call without effects has no intent, so its outcome has the fields of the intent.
 */
export interface OutcomeRecord extends Partial<CallFacts> {
  readonly kind: "outcome";
  readonly lane: number;
  readonly visit: Visit;
  readonly call: string;
  readonly output?: StoredValue;
  /** The changes that the tool made to the state of its run. A replay makes them again. */
  readonly changes?: StoredValue;
  /** The renames of tools by later migrations, which apply to `changes`. */
  readonly renames?: readonly Renames["tools"][];
  /** `name` is omitted for `Error`, and empty if the thrown value is not an error. */
  readonly error?: { readonly message: string; readonly name?: string };
  readonly failedCalls?: readonly string[];
  /** The call exceeded its time limit, so it possibly took effect or can still take effect. */
  readonly late?: true;
  readonly lost?: { readonly path: string; readonly reason: string };
  readonly moved?: true;
  /** The call waits for an answer, and is then repeated with the same id. */
  readonly suspended?: true;
  /** The call was aborted before its tool started. The call can be repeated with the same id. */
  readonly unstarted?: true;
  /** Who resolved the call in doubt. `undefined` if the call was not in doubt. */
  readonly settled?: "probe" | "handler" | "outside";
  /** The call was settled as `unknown`: it possibly took effect, and the run continues. */
  readonly unknown?: true;
  /** The call was settled as `"retry"`. The call is repeated with the same id, whether or not it took effect. */
  readonly retry?: true;
}

/** Returns whether a settled call succeeded and does not need to be repeated. */
export function isSuccess({ error, suspended, unstarted, unknown, retry }: OutcomeRecord): boolean {
  return error === undefined && !suspended && !unstarted && !unknown && !retry;
}

/** Returns whether a call has an outcome that a replay can return. False for calls that wait or must be repeated. */
export function isOver(outcome: OutcomeRecord | undefined): outcome is OutcomeRecord {
  return outcome !== undefined && !(outcome.suspended || outcome.unstarted || outcome.moved || outcome.retry);
}

/** Returns whether a model response can contain one of the `calls`. Always true if the response is in a blob. */
export function asksFor({ message }: AnswerRecord, calls: ReadonlySet<string>): boolean {
  if (calls.size === 0) return false;
  if (envelopeKeyOf(message) !== undefined) return true;
  const { content } = message as { readonly content?: unknown };
  if (!Array.isArray(content)) return false;
  return content.some((part: { readonly toolCallId?: unknown }) => calls.has(String(part.toolCallId)));
}

/** Returns whether the outcome of a call is unknown and was not settled with an output or an error. */
export function isUnsettled(outcome: OutcomeRecord | undefined): boolean {
  return !outcome || !!(outcome.retry ?? outcome.unknown ?? outcome.late);
}
