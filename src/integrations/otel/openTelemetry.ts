import type { Meter, Tracer } from "@opentelemetry/api";
import { z } from "zod";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { nonEmptyString, objectWithMethods } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { Telemetry } from "../../telemetry/Telemetry.ts";
import type { TelemetryKind, TelemetryOperation, TelemetrySpan } from "../../telemetry/TelemetryOperation.ts";
import { Instruments } from "./Instruments.ts";
import { OperationSpan, surroundingSpan } from "./OperationSpan.ts";

/** Options of {@link openTelemetry}. */
export interface OpenTelemetryOptions {
  /** Creates the spans, such as `trace.getTracer("desk")`. Omitted for no spans. */
  readonly tracer?: Tracer | undefined;
  /** Creates the metrics, such as `metrics.getMeter("desk")`. Omitted for no metrics. */
  readonly meter?: Meter | undefined;
  /**
   * `"persistence"` reports only the spans `agent_persistence.*` and their metrics. Use it with frameworks that report
   * agents, model requests and tool calls themselves. Defaults to `"all"`.
   */
  readonly spans?: "all" | "persistence" | undefined;
  /**
   * Whether spans contain messages, inputs and outputs, which may be large or contain personal data. Defaults to
   * `false`.
   */
  readonly content?: boolean | undefined;
  /**
   * The value of `gen_ai.provider.name`, such as `"openai"`, if the framework does not report the provider. Omitted by
   * default.
   */
  readonly provider?: string | undefined;
}

const optionsSchema = strictOptions(() => ({
  tracer: objectWithMethods<Tracer>("startSpan").optional(),
  meter: objectWithMethods<Meter>("createHistogram", "createCounter").optional(),
  spans: z.enum(["all", "persistence"]).optional(),
  content: z.boolean().optional(),
  provider: nonEmptyString.optional(),
}));

/** Operations that frameworks may report themselves. */
const ofFrameworks: ReadonlySet<TelemetryKind> = new Set(["invoke_agent", "chat", "execute_tool"]);

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
  readonly #instruments: Instruments | undefined;

  constructor(options: OpenTelemetryOptions) {
    super();
    this.content = options.content ?? false;
    this.#options = options;
    this.#instruments = options.meter && new Instruments(options.meter);
  }

  override start(operation: TelemetryOperation): TelemetrySpan | undefined {
    const { tracer, spans = "all", provider } = this.#options;
    if (spans === "persistence" && ofFrameworks.has(operation.kind))
      return operation.kind === "invoke_agent" ? surroundingSpan() : undefined;
    const started = operation.provider === undefined ? { ...operation, provider } : operation;
    return new OperationSpan(started, tracer, this.#instruments);
  }
}
