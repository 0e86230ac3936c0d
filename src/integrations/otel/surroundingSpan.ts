import { isSpanContextValid, trace } from "@opentelemetry/api";
import type { TelemetrySpan } from "../../telemetry/TelemetryOperation.ts";
import { traceparentOf } from "./traceparent.ts";

/** Returns the active span for an operation that has no span. The run stores it, so that a resume can link to it. */
export function surroundingSpan(): TelemetrySpan {
  const active = trace.getActiveSpan()?.spanContext();
  return {
    trace: active && isSpanContextValid(active) ? traceparentOf(active) : undefined,
    run: (action) => action(),
    end: () => {},
  };
}
