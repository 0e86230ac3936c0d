import {
  context,
  type Context,
  isSpanContextValid,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import type {
  TelemetryFacts,
  TelemetryFailure,
  TelemetryOperation,
  TelemetrySpan,
} from "../../telemetry/TelemetryOperation.ts";
import { attributesOf } from "./attributesOf.ts";
import { contentAttributes } from "./contentAttributes.ts";
import { errorTypeOf, isOnlyMoved } from "./errorTypeOf.ts";
import type { Instruments } from "./Instruments.ts";
import { spanNameOf } from "./spanNameOf.ts";
import { parseTraceparent, traceparentOf } from "./traceparent.ts";

export class OperationSpan implements TelemetrySpan {
  readonly #operation: TelemetryOperation;
  readonly #span: Span | undefined;
  readonly #context: Context;
  readonly #instruments: Instruments | undefined;
  readonly #startedAt = performance.now();

  constructor(operation: TelemetryOperation, tracer: Tracer | undefined, instruments: Instruments | undefined) {
    const parent = context.active();
    this.#operation = operation;
    this.#instruments = instruments;
    this.#span = tracer?.startSpan(
      spanNameOf(operation),
      {
        kind: operation.kind === "chat" ? SpanKind.CLIENT : SpanKind.INTERNAL,
        attributes: attributesOf(operation.kind, operation),
      },
      parent,
    );
    this.#context = this.#span ? trace.setSpan(parent, this.#span) : parent;
  }

  get trace(): string | undefined {
    const span = this.#span?.spanContext();
    return span && isSpanContextValid(span) ? traceparentOf(span) : undefined;
  }

  run<Result>(action: () => Result): Result {
    return context.with(this.#context, action);
  }

  end(facts: TelemetryFacts, failure?: TelemetryFailure): void {
    const { kind } = this.#operation;
    const errorType = failure && !isOnlyMoved(failure.error) ? errorTypeOf(failure.error) : undefined;
    const all = { ...this.#operation, ...facts };
    const seconds = (performance.now() - this.#startedAt) / 1_000;
    this.#instruments?.record(kind, all, { seconds, errorType });
    const span = this.#span;
    if (!span) return;
    span.setAttributes({ ...attributesOf(kind, facts), ...contentAttributes(kind, facts) });
    const linked = parseTraceparent(facts.linkedTrace);
    if (linked && linked.spanId !== span.spanContext().spanId) span.addLink({ context: linked });
    if (errorType !== undefined) {
      span.setAttribute("error.type", errorType);
      span.setStatus({ code: SpanStatusCode.ERROR, message: errorType });
    }
    span.end();
  }
}
