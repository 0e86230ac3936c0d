import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A model did not answer in time. The request was aborted. */
export class ModelTimeoutError extends AgentPersistenceError {
  override readonly code = "model_timed_out";
  /** The same request may succeed later. */
  readonly retryable = true;

  constructor(
    readonly model: string,
    /** The limit, in milliseconds. */
    readonly timeoutMs: number,
  ) {
    super(
      `Model ${quoted(model)} did not answer within ${timeoutMs} ms. Try the same request again, ` +
        `or raise modelTimeoutMs.`,
    );
  }
}
