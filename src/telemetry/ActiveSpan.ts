import { reasonOf } from "../internal/reasonOf.ts";
import { warnOnce } from "../internal/warn.ts";
import type { TelemetryContent, TelemetryFacts, TelemetryFailure, TelemetrySpan } from "./TelemetryOperation.ts";

/** An operation in progress. Nothing that telemetry throws gets out of it. */
export class ActiveSpan {
  /** Of an operation that is not shown. */
  static readonly none: ActiveSpan = new ActiveSpan(() => undefined);

  readonly #span: TelemetrySpan | undefined;
  readonly #showsContent: boolean;
  #facts: TelemetryFacts = {};
  #hasEnded = false;

  constructor(start: () => TelemetrySpan | undefined, showsContent = false) {
    this.#span = guarded(start);
    this.#showsContent = showsContent;
  }

  /** What is stored with a run; `undefined`: nothing. */
  get trace(): string | undefined {
    const trace: unknown = guarded(() => this.#span?.trace);
    return typeof trace === "string" ? trace : undefined;
  }

  /** Calls `action` once and returns its result: what begins in it, also later in its promise, is within this operation. */
  run<Result>(action: () => Result): Result {
    const span = this.#span;
    if (!span) return action();
    let end: (() => Result) | undefined;
    guarded(() => span.run(() => (end ??= outcomeOf(action))));
    return (end ?? outcomeOf(action))();
  }

  /** Facts that are known only now. */
  add(facts: TelemetryFacts): void {
    if (this.#span) this.#facts = { ...this.#facts, ...facts };
  }

  /** What models and tools were given and returned; asked for only if it is shown. */
  addContent(content: () => TelemetryContent): void {
    if (!this.#span || !this.#showsContent) return;
    this.add({ content: { ...this.#facts.content, ...guarded(content) } });
  }

  /** Only the first call counts. */
  end(failure?: TelemetryFailure): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    guarded(() => this.#span?.end(this.#facts, failure));
  }
}

/** Calls `action` now; what it threw or returned comes when the result is called. */
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

/** What telemetry returns; `undefined` if it throws. A promise that it returns by mistake may reject. */
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

function warnOfTelemetry(error: unknown): void {
  warnOnce("telemetry_failed", `Telemetry failed, and what it was to show is missing: ${reasonOf(error)}`);
}
