import { reasonOf } from "../internal/reasonOf.ts";
import { warn } from "../internal/warn.ts";
import type { TelemetryContent, TelemetryFacts, TelemetryFailure, TelemetrySpan } from "./TelemetryOperation.ts";

/** An operation in progress. Its methods catch all errors of the telemetry. */
export class ActiveSpan {
  /** A span of an operation that is not shown. */
  static readonly none: ActiveSpan = new ActiveSpan(() => undefined);

  readonly #span: TelemetrySpan | undefined;
  readonly #showsContent: boolean;
  #facts: TelemetryFacts = {};
  #hasEnded = false;

  constructor(start: () => TelemetrySpan | undefined, showsContent = false) {
    this.#span = guarded(start);
    this.#showsContent = showsContent;
  }

  /** The trace context that is stored with a run, if any. */
  get trace(): string | undefined {
    const trace: unknown = guarded(() => this.#span?.trace);
    return typeof trace === "string" ? trace : undefined;
  }

  /** Calls `action` once and returns its result. Operations that start inside it, or its promise, are nested. */
  run<Result>(action: () => Result): Result {
    const span = this.#span;
    if (!span) return action();
    let end: (() => Result) | undefined;
    guarded(() => span.run(() => (end ??= outcomeOf(action))));
    return (end ??= outcomeOf(action))();
  }

  /** Adds facts that became known after the start. */
  add(facts: TelemetryFacts): void {
    if (this.#span) this.#facts = { ...this.#facts, ...facts };
  }

  /** Adds inputs and outputs of models and tools. Calls `content` only if content is shown. */
  addContent(content: () => TelemetryContent): void {
    if (!this.#span || !this.#showsContent) return;
    this.add({ content: { ...this.#facts.content, ...guarded(content) } });
  }

  /** Ends the span. Only the first call counts. */
  end(failure?: TelemetryFailure): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    guarded(() => this.#span?.end(this.#facts, failure));
  }
}

/** Calls `action` immediately. The returned function returns the result of `action` or throws its error. */
function outcomeOf<Result>(action: () => Result): () => Result {
  try {
    const result = action();
    return () => result;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/** Returns the result of `call`, or `undefined` if it throws. Ignores the rejection of a returned promise. */
export function guarded<Result>(call: () => Result): Result | undefined {
  try {
    const result = call();
    Promise.resolve(result).catch(warnOfTelemetry);
    return result;
  } catch (error) {
    warnOfTelemetry(error);
    return undefined;
  }
}

let hasWarned = false;

function warnOfTelemetry(error: unknown): void {
  if (!hasWarned) warn("telemetry_failed", `Telemetry failed and is incomplete: ${reasonOf(error)}`);
  hasWarned = true;
}

export function within<Result>(span: ActiveSpan, action: (span: ActiveSpan) => Promise<Result>): Promise<Result> {
  return span.run(async () => {
    try {
      const result = await action(span);
      span.end();
      return result;
    } catch (error) {
      span.end({ error });
      throw error;
    }
  });
}
