import { ActiveSpan } from "./ActiveSpan.ts";
import type { Telemetry, TelemetryOperation } from "./Telemetry.ts";

/**
 * Carries out `action` as one operation, which ends with its promise.
 *
 * @param operation asked for only if there is telemetry
 */
export function traced<Result>(
  telemetry: Telemetry | undefined,
  operation: () => TelemetryOperation,
  action: (span: ActiveSpan) => Promise<Result>,
): Promise<Result> {
  if (!telemetry) return action(ActiveSpan.none);
  const span = ActiveSpan.start(telemetry, operation);
  return span.run(() => ended(span, action));
}

async function ended<Result>(span: ActiveSpan, action: (span: ActiveSpan) => Promise<Result>): Promise<Result> {
  try {
    const result = await action(span);
    span.end();
    return result;
  } catch (error) {
    span.end({ error });
    throw error;
  }
}
