import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** What is known of a failed request to a model. */
export interface ModelRequestFailure {
  readonly model: string;
  readonly provider: string;
  readonly statusCode?: number;
  readonly retryable: boolean;
  readonly retryAfterMs?: number;
  readonly cause: unknown;
}

/** A model gave no answer: the provider refused the request, or could not be reached. `cause` is the provider's error. */
export class ModelRequestError extends AgentPersistenceError {
  override readonly code = "model_request_failed";
  readonly model: string;
  readonly provider: string;
  /** The HTTP status; absent when there was no answer at all, as after a dropped connection. */
  readonly statusCode: number | undefined;
  /** Whether the same request may succeed later; as the provider's client judges it, `false` when it does not say. */
  readonly retryable: boolean;
  /** Milliseconds to wait before the next attempt, where the provider named a time. */
  readonly retryAfterMs: number | undefined;

  constructor(failure: ModelRequestFailure) {
    super(messageOf(failure), { cause: failure.cause });
    this.model = failure.model;
    this.provider = failure.provider;
    this.statusCode = failure.statusCode;
    this.retryable = failure.retryable;
    this.retryAfterMs = failure.retryAfterMs;
  }
}

function messageOf({ model, provider, statusCode, retryable, retryAfterMs, cause }: ModelRequestFailure): string {
  const status = statusCode === undefined ? "" : ` with status ${statusCode}`;
  const reason = cause instanceof Error ? cause.message : String(cause);
  const wait = retryAfterMs === undefined ? "" : ` after ${retryAfterMs} ms`;
  const next = retryable ? `The same request may succeed${wait}.` : "The same request would fail again.";
  return `Model ${JSON.stringify(model)} of ${provider} gave no answer; the request failed${status}: ${reason}. ${next}`;
}
