import { isSpanContextValid, trace } from "@opentelemetry/api";
import type { TelemetrySpan } from "../../telemetry/TelemetryOperation.ts";
import { traceparentOf } from "./traceparent.ts";

/** The span around an operation that is not shown itself: a run is stored with it, so that a resume can link to it. */
export function surroundingSpan(): TelemetrySpan {
  const active = trace.getActiveSpan()?.spanContext();
  return {
    trace: active && isSpanContextValid(active) ? traceparentOf(active) : undefined,
    run: (action) => action(),
    end: () => {},
  };
}
