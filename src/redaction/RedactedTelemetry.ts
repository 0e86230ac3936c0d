import { Telemetry } from "../telemetry/Telemetry.ts";
import type { TelemetryFacts, TelemetryOperation, TelemetrySpan } from "../telemetry/TelemetryOperation.ts";
import type { ShownValues } from "./ShownValues.ts";

/** Shows operations without redacted values. */
export class RedactedTelemetry extends Telemetry {
  override readonly content: boolean | undefined;
  readonly #telemetry: Telemetry;
  readonly #shown: ShownValues;

  constructor(telemetry: Telemetry, shown: ShownValues) {
    super();
    this.content = telemetry.content;
    this.#telemetry = telemetry;
    this.#shown = shown;
  }

  override start(operation: TelemetryOperation): TelemetrySpan | undefined {
    const { agentId, toolName } = operation;
    const span = this.#telemetry.start(this.#shown.of(agentId, operation));
    if (!span) return undefined;
    return {
      trace: span.trace,
      run: (action) => span.run(action),
      end: (facts, failure) => {
        const { content, ...others } = facts;
        const shown: TelemetryFacts = {
          ...others,
          ...(content && { content: this.#shown.of(agentId, content, toolName) }),
        };
        span.end(shown, failure && this.#shown.of(agentId, failure));
      },
    };
  }
}
