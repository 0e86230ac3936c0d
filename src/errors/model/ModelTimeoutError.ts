import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A model did not respond within the time limit. The request was aborted. */
export class ModelTimeoutError extends AgentPersistenceError {
  override readonly code = "model_timed_out";
  /** The same request may succeed later. */
  readonly retryable = true;

  constructor(
    readonly model: string,
    /** The time limit, in milliseconds. */
    readonly timeoutMs: number,
  ) {
    super(
      `Model ${quoted(model)} did not respond within ${timeoutMs} ms. Try the same request again, ` +
        `or raise modelTimeoutMs.`,
    );
  }
}
