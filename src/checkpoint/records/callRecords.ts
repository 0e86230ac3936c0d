import type { ModelUsage } from "../status/ModelUsage.ts";
import type { StoredValue } from "../values/valueCodec.ts";
import type { Visit } from "./Visit.ts";

/** The answer to a model request of a visit. */
export interface AnswerRecord {
  readonly kind: "answer";
  readonly lane: number;
  readonly visit: Visit;
  readonly ordinal: number;
  /** The tool call that made the model request. Absent: the node made it. */
  readonly within?: string;
  /** A digest of the model request: model, parameters, tools, and the visit's changes of the history. */
  readonly asked?: string;
  readonly node: string;
  readonly message: StoredValue;
  /** The tokens of the model request. Absent: unknown. */
  readonly usage?: ModelUsage;
  /** Why the model stopped. Absent: unknown. */
  readonly finish?: string;
  /** The model requests that were made at this place before and failed, oldest first. Absent: none. */
  readonly failed?: readonly FailedRequest[];
}

/** What is recorded of an error with which a model request failed. */
export interface ModelFailure {
  readonly name: string;
  readonly message: string;
  /** Absent: it had none. */
  readonly code?: string;
  /** The error's own fields that are text, numbers or booleans, such as `retryable`. Absent: it had none. */
  readonly fields?: Readonly<Record<string, string | number | boolean>>;
}

/** A model request without an answer. */
export interface FailedRequest {
  /** The digest of the model request. */
  readonly asked: string;
  readonly error: ModelFailure;
}

interface CallFacts {
  readonly tool: string;
  readonly effect: string;
  readonly node: string;
  /** Absent: the answer that requested the call contains it. */
  readonly input?: StoredValue;
  /** For a call made by code: which of the visit. */
  readonly ordinal?: number;
  /** The tool call in which it was made; absent: the node itself made it. */
  readonly within?: string;
  /** An inverse was registered for the tool: a rollback without it is incomplete. */
  readonly inverse?: true;
}

/** A tool call is about to have its effect. */
export interface IntentRecord extends CallFacts {
  readonly kind: "intent";
  readonly lane: number;
  readonly visit: Visit;
  readonly call: string;
}

/**
 * A tool call has ended: with an output, with an error, with an output that cannot be stored (`lost`), or by moving the
 * run; or a call in doubt was resolved. A call without side effect has no intent: its outcome has the fields of the intent.
 */
export interface OutcomeRecord extends Partial<CallFacts> {
  readonly kind: "outcome";
  readonly lane: number;
  readonly visit: Visit;
  readonly call: string;
  readonly output?: StoredValue;
  /** `name` is absent if it was `Error`, and empty if what was thrown is no error. */
  readonly error?: { readonly message: string; readonly name?: string };
  /** The calls made within it whose failures its error came of. Absent: it came of none. */
  readonly failedCalls?: readonly string[];
  readonly lost?: { readonly path: string; readonly reason: string };
  readonly moved?: true;
  /** The call waits for an answer to its request, and is made again under the same id once it is answered. */
  readonly suspended?: true;
  /** The call was aborted before its tool began: it may be made again under the same id. */
  readonly unstarted?: true;
  /** Who resolved the call in doubt. Absent: the call was not in doubt. */
  readonly settled?: "probe" | "handler" | "outside";
  /** Resolved: whether it had its effect is unknown, and the run continues. */
  readonly unknown?: true;
  /** Resolved: it is made again under its id, whether or not it had its effect. */
  readonly retry?: true;
}

/** Whether a call that ended did its work: it did not fail, and nobody has to make it again. */
export function isSuccess({ error, suspended, unstarted, unknown, retry }: OutcomeRecord): boolean {
  return error === undefined && !suspended && !unstarted && !unknown && !retry;
}

/** Whether a call has an end that a replay gives back. One that waits, or that is to be made again, has none. */
export function isOver(outcome: OutcomeRecord | undefined): outcome is OutcomeRecord {
  return outcome !== undefined && !(outcome.suspended || outcome.unstarted || outcome.moved || outcome.retry);
}
