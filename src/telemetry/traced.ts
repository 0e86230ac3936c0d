import { ActiveSpan, within } from "./ActiveSpan.ts";
import type { Telemetry } from "./Telemetry.ts";
import type { TelemetryOperation } from "./TelemetryOperation.ts";

/** Starts an operation. Without telemetry, `operation` is not called and the span does nothing. */
export function startSpan(telemetry: Telemetry | undefined, operation: () => TelemetryOperation): ActiveSpan {
  return telemetry ? telemetry.begin(operation()) : ActiveSpan.none;
}

/** Runs `action` as one operation, which ends with its promise. */
export function traced<Result>(
  telemetry: Telemetry | undefined,
  operation: () => TelemetryOperation,
  action: (span: ActiveSpan) => Promise<Result>,
): Promise<Result> {
  return within(startSpan(telemetry, operation), action);
}
