import { ActiveSpan, guarded } from "./ActiveSpan.ts";
import { AgentTelemetry } from "./AgentTelemetry.ts";
import type { TelemetryOperation, TelemetrySpan } from "./TelemetryOperation.ts";

/**
 * Where durable agents show what they do: `openTelemetry()` of `agent-persistence/otel` makes one. To show it elsewhere, extend
 * this class. What your methods throw harms nothing: the agent goes on, and one process warning says so.
 */
export abstract class Telemetry {
  /** What agents of this library show; called by them. */
  readonly agents: AgentTelemetry = new AgentTelemetry((operation) => this.begin(operation));

  /**
   * Whether operations end with the messages, inputs and outputs of models and tools. Default false: they have names, ids and
   * numbers only.
   */
  readonly content?: boolean | undefined;

  /** An operation begins, within the one whose `run` calls it. `undefined`: it is not shown. */
  abstract start(operation: TelemetryOperation): TelemetrySpan | undefined;

  /** Calls {@link start}. What that or its span throws gets no further. */
  begin(operation: TelemetryOperation): ActiveSpan {
    return new ActiveSpan(() => this.start(operation), guarded(() => this.content) === true);
  }
}
