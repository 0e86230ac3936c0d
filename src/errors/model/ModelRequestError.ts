import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

// Declares `cause`, because older libs do not declare it on Error.
type Failure = Pick<ModelRequestError, "model" | "provider" | "retryable"> &
  Partial<Pick<ModelRequestError, "statusCode" | "retryAfterMs">> & { readonly cause: unknown };

/**
 * A request to a model failed, because the provider rejected it or could not be reached. `cause` is the provider's
 * error.
 */
export class ModelRequestError extends AgentPersistenceError {
  override readonly code = "model_request_failed";
  readonly model: string;
  readonly provider: string;
  /** The HTTP status. `undefined` without a response, for example after a dropped connection. */
  readonly statusCode: number | undefined;
  /** Whether the provider's client considers the request retryable. `false` if the client does not say. */
  readonly retryable: boolean;
  /** The delay before the next attempt, in milliseconds. `undefined` if the provider did not specify a delay. */
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
    : "Change the request, because the same request will probably fail again.";
  return `The request to model ${quoted(model)} of ${provider} failed${status}: ${reason}. ${next}`;
}
