import type { Attributes, AttributeValue } from "@opentelemetry/api";
import type { TelemetryFacts, TelemetryKind } from "../../telemetry/TelemetryOperation.ts";
import { providerNameOf } from "./providerNameOf.ts";

const ours = "agent_persistence";

/** The attribute names of facts that are exported unchanged. */
const names = {
  agentId: "gen_ai.conversation.id",
  agentName: "gen_ai.agent.name",
  definitionId: "gen_ai.agent.id",
  runId: `${ours}.run.id`,
  agentPath: `${ours}.agent_path`,
  branch: `${ours}.branch`,
  nodeId: `${ours}.node.id`,
  replayed: `${ours}.replayed`,
  status: `${ours}.status`,
  model: "gen_ai.request.model",
  responseModel: "gen_ai.response.model",
  responseId: "gen_ai.response.id",
  toolName: "gen_ai.tool.name",
  toolCallId: "gen_ai.tool.call.id",
  effect: `${ours}.tool.effect`,
  checkpointId: `${ours}.checkpoint.id`,
  trigger: `${ours}.checkpoint.trigger`,
  requestIds: `${ours}.request.ids`,
  reverted: `${ours}.rollback.reverted`,
  unreverted: `${ours}.rollback.unreverted`,
  prunedCheckpoints: `${ours}.prune.checkpoints`,
  prunedBytes: `${ours}.prune.bytes`,
} as const satisfies Partial<Record<keyof TelemetryFacts, string>>;

/** The attribute names of model settings, by their AI SDK names. */
const settings = {
  temperature: "gen_ai.request.temperature",
  maxOutputTokens: "gen_ai.request.max_tokens",
  topP: "gen_ai.request.top_p",
  topK: "gen_ai.request.top_k",
  seed: "gen_ai.request.seed",
  frequencyPenalty: "gen_ai.request.frequency_penalty",
  presencePenalty: "gen_ai.request.presence_penalty",
  stopSequences: "gen_ai.request.stop_sequences",
} as const;

/** The operations that the conventions for generative AI define. */
const operations: ReadonlySet<TelemetryKind> = new Set(["invoke_agent", "chat", "execute_tool"]);

/** Returns the span attributes of an operation, without message contents. */
export function attributesOf(kind: TelemetryKind, facts: TelemetryFacts): Attributes {
  const { modelParameters = {}, provider, finishReason, usage, toolName } = facts;
  return {
    ...(operations.has(kind) && { "gen_ai.operation.name": kind }),
    ...(toolName !== undefined && { "gen_ai.tool.type": "function" }),
    ...(provider !== undefined && { "gen_ai.provider.name": providerNameOf(provider) }),
    ...(finishReason !== undefined && { "gen_ai.response.finish_reasons": [finishReason] }),
    ...renamed(names, facts),
    ...renamed(settings, modelParameters),
    ...(usage && usageAttributes(usage)),
  };
}

function usageAttributes(usage: NonNullable<TelemetryFacts["usage"]>): Attributes {
  return renamed(
    {
      input: "gen_ai.usage.input_tokens",
      output: "gen_ai.usage.output_tokens",
      cacheRead: "gen_ai.usage.cache_read.input_tokens",
      cacheWrite: "gen_ai.usage.cache_creation.input_tokens",
      reasoning: "gen_ai.usage.reasoning.output_tokens",
    },
    {
      input: usage.inputTokens,
      output: usage.outputTokens,
      cacheRead: usage.inputTokenDetails?.cacheReadTokens,
      cacheWrite: usage.inputTokenDetails?.cacheWriteTokens,
      reasoning: usage.outputTokenDetails?.reasoningTokens,
    },
  );
}

/** Renames values to attributes. Drops values of other types and empty lists. */
function renamed(to: Readonly<Record<string, string>>, values: object): Attributes {
  const given = values as Readonly<Record<string, unknown>>;
  const attributes: Attributes = {};
  for (const [name, attribute] of Object.entries(to)) {
    const value = given[name];
    if (isAttribute(value)) attributes[attribute] = value;
  }
  return attributes;
}

function isAttribute(value: unknown): value is AttributeValue {
  if (Array.isArray(value)) return value.length > 0 && value.every((each) => typeof each === "string");
  return ["string", "number", "boolean"].includes(typeof value);
}
