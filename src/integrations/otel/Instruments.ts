import type { Attributes, Counter, Histogram, Meter } from "@opentelemetry/api";
import type { TelemetryFacts, TelemetryKind } from "../../telemetry/TelemetryOperation.ts";
import { providerNameOf } from "./attributesOf.ts";

interface Outcome {
  readonly seconds: number;
  /** `undefined` for a successful operation. */
  readonly errorType: string | undefined;
}

const seconds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const shortSeconds = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];
const tokens = Array.from({ length: 14 }, (_each, at) => 4 ** at);

const ofGenAi: ReadonlySet<TelemetryKind> = new Set(["invoke_agent", "chat", "execute_tool"]);

/** The metrics. Their attributes never identify an agent, to keep cardinality low. */
export class Instruments {
  readonly #tokens: Histogram;
  readonly #duration: Histogram;
  readonly #ownDuration: Histogram;
  readonly #replayed: Counter;

  constructor(meter: Meter) {
    this.#tokens = meter.createHistogram("gen_ai.client.token.usage", {
      unit: "{token}",
      description: "Number of input and output tokens used.",
      advice: { explicitBucketBoundaries: tokens },
    });
    this.#duration = meter.createHistogram("gen_ai.client.operation.duration", {
      unit: "s",
      description: "Duration of model requests, tool calls and runs of agents.",
      advice: { explicitBucketBoundaries: seconds },
    });
    this.#ownDuration = meter.createHistogram("agent_persistence.operation.duration", {
      unit: "s",
      description: "Duration of saves, opens, resumes, rollbacks, inverses, new tasks, answers and prunings.",
      advice: { explicitBucketBoundaries: shortSeconds },
    });
    this.#replayed = meter.createCounter("agent_persistence.replayed", {
      unit: "{operation}",
      description: "Number of model requests and tool calls that were given their recorded result.",
    });
  }

  /** Skips replayed operations, because they consume no tokens or time of a model or tool. */
  record(kind: TelemetryKind, facts: TelemetryFacts, { seconds: duration, errorType }: Outcome): void {
    const failed = errorType !== undefined && { "error.type": errorType };
    if (!ofGenAi.has(kind))
      return this.#ownDuration.record(duration, { "agent_persistence.operation": kind, ...failed });
    const attributes = genAiAttributes(kind, facts);
    if (facts.replayed) return this.#replayed.add(1, attributes);
    this.#duration.record(duration, { ...attributes, ...failed });
    if (kind === "chat") this.#recordTokens(facts, attributes);
  }

  #recordTokens({ usage }: TelemetryFacts, attributes: Attributes): void {
    const counted = { input: usage?.inputTokens, output: usage?.outputTokens };
    for (const [type, count] of Object.entries(counted))
      if (count !== undefined) this.#tokens.record(count, { ...attributes, "gen_ai.token.type": type });
  }
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
