import {
  type Meter,
  type Tracer,
  context,
  isSpanContextValid,
  SpanKind,
  SpanStatusCode,
  trace,
  type SpanContext,
  type Attributes,
} from "@opentelemetry/api";
import { z } from "zod";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { nonEmptyString, objectWithMethods } from "../../internal/options/optionSchemas.ts";
import { Telemetry } from "../../telemetry/Telemetry.ts";
import type {
  TelemetryKind,
  TelemetryOperation,
  TelemetrySpan,
  TelemetryFacts,
} from "../../telemetry/TelemetryOperation.ts";
import { attributesOf, contentAttributes, genAiOperations, providerNameOf } from "./attributesOf.ts";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { ToolFailedError } from "../../errors/toolCallErrors.ts";

/** Options of {@link openTelemetry}. */
export interface OpenTelemetryOptions {
  /** Creates the spans, such as `trace.getTracer("desk")`. If omitted, no spans are created. */
  readonly tracer?: Tracer | undefined;
  /** Creates the metrics, such as `metrics.getMeter("desk")`. If omitted, no metrics are created. */
  readonly meter?: Meter | undefined;
  /**
   * `"persistence"` reports only the spans `agent_persistence.*` and their metrics. Use this value with frameworks that
   * report agents, model requests and tool calls themselves. Defaults to `"all"`.
   */
  readonly spans?: "all" | "persistence" | undefined;
  /** Whether spans contain messages, inputs and outputs, which may contain personal data. Defaults to `false`. */
  readonly content?: boolean | undefined;
  /** The `gen_ai.provider.name`, such as `"openai"`, if the framework reports none. By default, the name is omitted. */
  readonly provider?: string | undefined;
}

const optionsSchema = strictOptions(() => ({
  tracer: objectWithMethods<Tracer>("startSpan").optional(),
  meter: objectWithMethods<Meter>("createHistogram", "createCounter").optional(),
  spans: z.enum(["all", "persistence"]).optional(),
  content: z.boolean().optional(),
  provider: nonEmptyString.optional(),
}));

/**
 * Reports durable agents as spans and metrics with the names of the OpenTelemetry conventions for generative AI. Pass
 * the result to any `telemetry` option. Spans are children of the active span if a context manager is registered.
 *
 * @example
 * ```ts
 * const telemetry = openTelemetry({ tracer: trace.getTracer("desk"), meter: metrics.getMeter("desk") });
 * agent.install(Persistence, { storage, telemetry });
 * ```
 *
 * @throws InvalidInputError for an invalid option
 */
export function openTelemetry(options: OpenTelemetryOptions): Telemetry {
  checkSchema(optionsSchema, options, "options of openTelemetry()");
  return new OpenTelemetry(options);
}

class OpenTelemetry extends Telemetry {
  override readonly content: boolean;
  readonly #options: OpenTelemetryOptions;
  readonly #record: RecordOutcome | undefined;

  constructor(options: OpenTelemetryOptions) {
    super();
    this.content = options.content ?? false;
    this.#options = options;
    this.#record = options.meter && instruments(options.meter);
  }

  override start(operation: TelemetryOperation): TelemetrySpan | undefined {
    const { tracer, spans = "all", provider } = this.#options;
    // The framework reports these operations itself.
    if (spans === "persistence" && genAiOperations.has(operation.kind))
      return operation.kind === "invoke_agent" ? surroundingSpan() : undefined;
    const started = operation.provider === undefined ? { ...operation, provider } : operation;
    return startedSpan(started, tracer, this.#record);
  }
}

function startedSpan(
  operation: TelemetryOperation,
  tracer: Tracer | undefined,
  record: RecordOutcome | undefined,
): TelemetrySpan {
  const { kind } = operation;
  const startedAt = performance.now();
  const parent = context.active();
  const spanKind = kind === "chat" ? SpanKind.CLIENT : SpanKind.INTERNAL;
  const attributes = attributesOf(kind, operation);
  const span = tracer?.startSpan(spanNameOf(operation), { kind: spanKind, attributes }, parent);
  const inSpan = span ? trace.setSpan(parent, span) : parent;
  const own = span?.spanContext();
  return {
    trace: own && isSpanContextValid(own) ? traceparentOf(own) : undefined,
    run: (action) => context.with(inSpan, action),
    end(facts, failure) {
      const errorType = failure && !isOnlyMoved(failure.error) ? errorTypeOf(failure.error) : undefined;
      record?.(kind, { ...operation, ...facts }, { seconds: (performance.now() - startedAt) / 1_000, errorType });
      if (!span) return;
      span.setAttributes({ ...attributesOf(kind, facts), ...contentAttributes(kind, facts) });
      const linked = parseTraceparent(facts.linkedTrace);
      if (linked && linked.spanId !== own?.spanId) span.addLink({ context: linked });
      if (errorType !== undefined) {
        span.setAttribute("error.type", errorType);
        span.setStatus({ code: SpanStatusCode.ERROR, message: errorType });
      }
      span.end();
    },
  };
}

/** Returns the attribute `error.type`: the code of a library error, or the name of another error. Never the message. */
function errorTypeOf(error: unknown): string {
  // The error that the tool threw is more specific.
  if (error instanceof ToolFailedError && error.cause instanceof Error) return errorTypeOf(error.cause);
  if (AgentPersistenceError.isInstance(error)) return error.code;
  return error instanceof Error ? error.name : "_OTHER";
}

/** Returns whether an operation ended only because the run moved to another node or waits. */
function isOnlyMoved(error: unknown): boolean {
  return AgentPersistenceError.isInstance(error) && ["run_moved", "run_suspended"].includes(error.code);
}

/** Returns a span name with the model, tool or agent name. Ids are left out, because they would make too many names. */
function spanNameOf({ kind, model, agentName, toolName }: TelemetryOperation): string {
  if (!genAiOperations.has(kind)) return `agent_persistence.${kind}`;
  const name = kind === "chat" ? model : kind === "invoke_agent" ? agentName : toolName;
  return name === undefined ? kind : `${kind} ${name}`;
}

/** W3C Trace Context, version 00. */
const form = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

function traceparentOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
}

/** Returns `undefined` for invalid text, because a log may contain any value. */
function parseTraceparent(text: string | undefined): SpanContext | undefined {
  const [, traceId, spanId, flags] = form.exec(text ?? "") ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  const span = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(span) ? span : undefined;
}

/** Returns a span that refers to the active span, for operations without a span. A resumed run can link to the span. */
function surroundingSpan(): TelemetrySpan {
  const active = trace.getActiveSpan()?.spanContext();
  return {
    trace: active && isSpanContextValid(active) ? traceparentOf(active) : undefined,
    run: (action) => action(),
    end: () => {},
  };
}

interface Outcome {
  readonly seconds: number;
  /** `undefined` for a successful operation. */
  readonly errorType: string | undefined;
}

const seconds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const shortSeconds = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];
const tokens = Array.from({ length: 14 }, (_each, at) => 4 ** at);

type RecordOutcome = (kind: TelemetryKind, facts: TelemetryFacts, outcome: Outcome) => void;

/** Creates the metrics. Their attributes never identify an agent, so that the number of time series stays low. */
function instruments(meter: Meter): RecordOutcome {
  const ofTokens = meter.createHistogram("gen_ai.client.token.usage", {
    unit: "{token}",
    description: "Number of input and output tokens used.",
    advice: { explicitBucketBoundaries: tokens },
  });
  const ofGenAi = meter.createHistogram("gen_ai.client.operation.duration", {
    unit: "s",
    description: "Duration of model requests, tool calls and runs of agents.",
    advice: { explicitBucketBoundaries: seconds },
  });
  const ofOthers = meter.createHistogram("agent_persistence.operation.duration", {
    unit: "s",
    description: "Duration of saves, opens, resumes, rollbacks, inverses, new tasks, answers and prunings.",
    advice: { explicitBucketBoundaries: shortSeconds },
  });
  const replayed = meter.createCounter("agent_persistence.replayed", {
    unit: "{operation}",
    description: "Number of model requests and tool calls that were given their recorded result.",
  });
  return (kind, facts, { seconds: duration, errorType }) => {
    const failed = errorType !== undefined && { "error.type": errorType };
    if (!genAiOperations.has(kind))
      return ofOthers.record(duration, { "agent_persistence.operation": kind, ...failed });
    const attributes = genAiAttributes(kind, facts);
    // A replayed operation uses no tokens and no time of a model or tool.
    if (facts.replayed) return replayed.add(1, attributes);
    ofGenAi.record(duration, { ...attributes, ...failed });
    if (kind !== "chat") return;
    const counted = { input: facts.usage?.inputTokens, output: facts.usage?.outputTokens };
    for (const [type, count] of Object.entries(counted))
      if (count !== undefined) ofTokens.record(count, { ...attributes, "gen_ai.token.type": type });
  };
}

function genAiAttributes(
  kind: TelemetryKind,
  { provider, model, responseModel, toolName }: TelemetryFacts,
): Attributes {
  return {
    "gen_ai.operation.name": kind,
    ...(provider !== undefined && { "gen_ai.provider.name": providerNameOf(provider) }),
    ...(model !== undefined && { "gen_ai.request.model": model }),
    ...(responseModel !== undefined && { "gen_ai.response.model": responseModel }),
    ...(toolName !== undefined && { "gen_ai.tool.name": toolName }),
  };
}
