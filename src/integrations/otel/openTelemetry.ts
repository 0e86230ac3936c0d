import type { Meter, Tracer } from "@opentelemetry/api";
import { z } from "zod";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { nonEmptyString, objectWithMethods } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { Telemetry } from "../../telemetry/Telemetry.ts";
import type { TelemetryKind, TelemetryOperation, TelemetrySpan } from "../../telemetry/TelemetryOperation.ts";
import { Instruments } from "./Instruments.ts";
import { OperationSpan } from "./OperationSpan.ts";
import { surroundingSpan } from "./surroundingSpan.ts";

/** Options of {@link openTelemetry}. */
export interface OpenTelemetryOptions {
  /** Makes the spans, such as `trace.getTracer("desk")`. Default: no spans are made. */
  readonly tracer?: Tracer | undefined;
  /** Makes the metrics, such as `metrics.getMeter("desk")`. Default: no metrics are made. */
  readonly meter?: Meter | undefined;
  /**
   * `"persistence"`: only the spans `agent_persistence.*` and their metrics, for frameworks that make spans of agents, model
   * requests and tool calls themselves. Default `"all"`.
   */
  readonly spans?: "all" | "persistence" | undefined;
  /**
   * Whether spans of agents, model requests and tool calls have messages, inputs and outputs. They may hold personal data, and may
   * be large. Default false.
   */
  readonly content?: boolean | undefined;
  /** Whose models they are, such as `"openai"`, where the framework does not say: `gen_ai.provider.name`. Default: not said. */
  readonly provider?: string | undefined;
}

const optionsSchema = strictOptions({
  tracer: objectWithMethods<Tracer>("startSpan").optional(),
  meter: objectWithMethods<Meter>("createHistogram", "createCounter").optional(),
  spans: z.enum(["all", "persistence"]).optional(),
  content: z.boolean().optional(),
  provider: nonEmptyString.optional(),
});

/** Operations that frameworks show themselves. */
const ofFrameworks: ReadonlySet<TelemetryKind> = new Set(["invoke_agent", "chat", "execute_tool"]);

/**
 * Shows durable agents as spans and metrics of OpenTelemetry, under the names of its conventions for generative AI: give it to
 * whatever takes the option `telemetry`. Spans are children of the active one where a context manager is registered.
 *
 * ```ts
 * const telemetry = openTelemetry({ tracer: trace.getTracer("desk"), meter: metrics.getMeter("desk") });
 * agent.install(Persistence, { storage, telemetry });
 * ```
 *
 * @throws InvalidInputError when an option is wrong.
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
