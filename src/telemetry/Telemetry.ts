import type { z } from "zod";
import { customSchema } from "../internal/options/optionSchemas.ts";
import { AgentTelemetry, ActiveSpan, guarded, within } from "./AgentTelemetry.ts";
import type { TelemetryOperation, TelemetrySpan } from "./TelemetryOperation.ts";

/**
 * Receives the operations of durable agents. `openTelemetry()` of `agent-persistence/otel` creates an implementation.
 * To use another system, extend this class. Errors of your methods do not affect agents, and cause a single process
 * warning.
 *
 * @example
 * ```ts
 * class ConsoleTelemetry extends Telemetry {
 *   start({ kind, agentId }: TelemetryOperation): TelemetrySpan {
 *     console.log("start", kind, agentId);
 *     return { run: (action) => action(), end: (_facts, failure) => console.log("end", kind, failure?.error ?? "ok") };
 *   }
 * }
 * ```
 */
export abstract class Telemetry {
  /** Creates the operations of agents. Used only by this library. */
  readonly agents: AgentTelemetry = new AgentTelemetry((operation) => this.begin(operation));

  /** Whether operations contain messages, inputs and outputs, not only names, ids and numbers. Defaults to false. */
  readonly content?: boolean | undefined;

  /** Starts an operation within the operation whose `run` is active. Return `undefined` to hide the operation. */
  abstract start(operation: TelemetryOperation): TelemetrySpan | undefined;

  /** Calls {@link start}. Catches all errors of `start` and of its span. */
  begin(operation: TelemetryOperation): ActiveSpan {
    return new ActiveSpan(() => this.start(operation), guarded(() => this.content) === true);
  }
}

/** Accepts objects of another copy of this package. */
export const telemetrySchema: z.ZodType<Telemetry> = customSchema(
  "a Telemetry, such as openTelemetry() makes",
  (value) => typeof (value as Partial<Telemetry> | null)?.agents?.run === "function",
);

/** Runs `action` as one operation, which ends when its promise settles. Without telemetry, the span does nothing. */
export function traced<Result>(
  telemetry: Telemetry | undefined,
  operation: () => TelemetryOperation,
  action: (span: ActiveSpan) => Promise<Result>,
): Promise<Result> {
  return within(telemetry ? telemetry.begin(operation()) : ActiveSpan.none, action);
}
