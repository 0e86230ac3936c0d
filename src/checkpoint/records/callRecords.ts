import type { ModelUsage } from "../status/ModelUsage.ts";
import { type StoredValue, envelopeKeyOf } from "../values/valueCodec.ts";
import type { Visit } from "./Visit.ts";

export interface AnswerRecord {
  readonly kind: "answer";
  readonly lane: number;
  readonly visit: Visit;
  readonly ordinal: number;
  readonly within?: string;
  /** Digest of the request: model, parameters, tools, and the history changes of the visit. */
  readonly asked?: string;
  readonly node: string;
  readonly message: StoredValue;
  readonly usage?: ModelUsage;
  readonly finish?: string;
  readonly failed?: readonly FailedRequest[];
}

export interface ModelFailure {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly fields?: Readonly<Record<string, string | number | boolean>>;
}

export interface FailedRequest {
  readonly asked: string;
  /** The key of the last recorded result before the failure. Omitted if no result was recorded before. */
  readonly after?: string;
  readonly error: ModelFailure;
}

interface CallFacts {
  readonly tool: string;
  readonly effect: string;
  readonly node: string;
  /** The input of the call. `undefined` if the model response that requested the call contains the input. */
  readonly input?: StoredValue;
  /** The number in the visit, for a call by code. */
  readonly ordinal?: number;
  readonly within?: string;
  /** True if the tool was registered with an inverse. A rollback without the inverse is incomplete. */
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
 * A tool call has settled: with an output, an error, a `lost` output, or a move. Says how a doubt was resolved.
 * Contains the fields of the intent for a call without side effects.
 */
export interface OutcomeRecord extends Partial<CallFacts> {
  readonly kind: "outcome";
  readonly lane: number;
  readonly visit: Visit;
  readonly call: string;
  readonly output?: StoredValue;
  /** `name` is omitted for `Error`, and empty if the thrown value is not an error. */
  readonly error?: { readonly message: string; readonly name?: string };
  readonly failedCalls?: readonly string[];
  /** The call failed at its time limit, so it could have taken effect, or can still take effect. */
  readonly late?: true;
  readonly lost?: { readonly path: string; readonly reason: string };
  readonly moved?: true;
  /** The call waits for an answer to its request, and is repeated with the same id after the answer. */
  readonly suspended?: true;
  /** The call was aborted before its tool started. It can be repeated with the same id. */
  readonly unstarted?: true;
  /** Who resolved the call in doubt. `undefined` if the call was not in doubt. */
  readonly settled?: "probe" | "handler" | "outside";
  /** The call was resolved as unknown: it could have taken effect, and the run continues. */
  readonly unknown?: true;
  /** The call was resolved for a retry with the same id, whether or not it took effect. */
  readonly retry?: true;
}

/** Returns whether a settled call succeeded and does not need to be repeated. */
export function isSuccess({ error, suspended, unstarted, unknown, retry }: OutcomeRecord): boolean {
  return error === undefined && !suspended && !unstarted && !unknown && !retry;
}

/** Returns whether a call has an outcome that can be replayed. False for calls that wait or must be repeated. */
export function isOver(outcome: OutcomeRecord | undefined): outcome is OutcomeRecord {
  return outcome !== undefined && !(outcome.suspended || outcome.unstarted || outcome.moved || outcome.retry);
}

/** Returns whether a model response can request one of these calls. Always true for a message in a blob. */
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
