import { isSpanContextValid, type SpanContext, trace } from "@opentelemetry/api";
import type { TelemetrySpan } from "../../telemetry/TelemetryOperation.ts";

/** W3C Trace Context, version 00. */
const form = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Formats a span context as the text that is stored with a run. */
export function traceparentOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
}

/** Returns `undefined` for invalid text, because a log may contain any value. */
export function parseTraceparent(text: string | undefined): SpanContext | undefined {
  const [, traceId, spanId, flags] = form.exec(text ?? "") ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  const span = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(span) ? span : undefined;
}

/** Returns the active span for an operation that has no span. The run stores it, so that a resume can link to it. */
export function surroundingSpan(): TelemetrySpan {
  const active = trace.getActiveSpan()?.spanContext();
  return {
    trace: active && isSpanContextValid(active) ? traceparentOf(active) : undefined,
    run: (action) => action(),
    end: () => {},
  };
}
