import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

// `cause` by itself: older libs do not declare it on Error.
type Failure = Pick<ModelRequestError, "model" | "provider" | "retryable"> &
  Partial<Pick<ModelRequestError, "statusCode" | "retryAfterMs">> & { readonly cause: unknown };

/** A model did not answer: the provider rejected the request or could not be reached. `cause` is the provider's error. */
export class ModelRequestError extends AgentPersistenceError {
  override readonly code = "model_request_failed";
  readonly model: string;
  readonly provider: string;
  /** The HTTP status; `undefined` when there was no response, for example after a dropped connection. */
  readonly statusCode: number | undefined;
  /** Whether the same request may succeed later, as the provider's client judges; `false` when it does not say. */
  readonly retryable: boolean;
  /** Milliseconds to wait before the next attempt; `undefined` when the provider named no time. */
  readonly retryAfterMs: number | undefined;

  constructor(failure: Failure) {
    super(messageOf(failure), { cause: failure.cause });
    this.model = failure.model;
    this.provider = failure.provider;
    this.statusCode = failure.statusCode;
    this.retryable = failure.retryable;
    this.retryAfterMs = failure.retryAfterMs;
  }
}

function messageOf({ model, provider, statusCode, retryable, retryAfterMs, cause }: Failure): string {
  const status = statusCode === undefined ? "" : ` with status ${statusCode}`;
  const reason = cause instanceof Error ? cause.message : String(cause);
  const wait = retryAfterMs === undefined ? "" : ` after ${retryAfterMs} ms`;
  const next = retryable
    ? `Try the same request again${wait}.`
    : "Change the request: the same one is not expected to succeed.";
  return `Model ${quoted(model)} of ${provider} did not answer; the request failed${status}: ${reason}. ${next}`;
}
