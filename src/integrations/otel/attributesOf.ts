import type { Attributes, AttributeValue } from "@opentelemetry/api";
import type { TelemetryFacts, TelemetryKind } from "../../telemetry/TelemetryOperation.ts";
import type { ContentPart, Message } from "../../checkpoint/messages/Message.ts";

/** Prefixes of AI SDK providers whose names differ from the OpenTelemetry conventions. */
const known: readonly (readonly [prefix: string, name: string])[] = [
  ["google.vertex", "gcp.vertex_ai"],
  ["google.generative-ai", "gcp.gemini"],
  ["amazon-bedrock", "aws.bedrock"],
  ["azure", "azure.ai.openai"],
  ["mistral", "mistral_ai"],
  ["xai", "x_ai"],
];

const ours = "agent_persistence";

/** The OpenTelemetry attribute of each exported fact. The value of the fact is exported unchanged. */
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
export const genAiOperations: ReadonlySet<TelemetryKind> = new Set(["invoke_agent", "chat", "execute_tool"]);

export function attributesOf(kind: TelemetryKind, facts: TelemetryFacts): Attributes {
  const { modelParameters = {}, provider, finishReason, usage, toolName } = facts;
  return {
    ...(genAiOperations.has(kind) && { "gen_ai.operation.name": kind }),
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

/** Returns values under the names of their attributes. Drops empty lists and values of unsupported types. */
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

/** Returns messages, inputs and outputs as JSON attributes. Empty unless the option `content` is set. */
export function contentAttributes(kind: TelemetryKind, { content, finishReason }: TelemetryFacts): Attributes {
  if (!content) return {};
  const { messages, answer, input, output } = content;
  const isTool = kind === "execute_tool";
  return {
    // The messages are missing for other runtimes, whose prompts are not recorded.
    ...(messages?.length && { "gen_ai.input.messages": json(messages.map(shownMessage)) }),
    ...(answer && { "gen_ai.output.messages": json([{ ...shownMessage(answer), finish_reason: finishReason }]) }),
    ...("input" in content && { [isTool ? "gen_ai.tool.call.arguments" : "agent_persistence.input"]: json(input) }),
    ...("output" in content && { [isTool ? "gen_ai.tool.call.result" : "agent_persistence.output"]: json(output) }),
  };
}

function shownMessage({ role, content }: Message) {
  const parts: readonly (string | ContentPart)[] = typeof content === "string" ? [content] : content;
  return { role, parts: parts.map(shownPart) };
}

function shownPart(part: string | ContentPart) {
  if (typeof part === "string") return { type: "text", content: part };
  switch (part.type) {
    case "text":
    case "reasoning":
      return { type: part.type, content: part.text };
    case "tool-call":
      return { type: "tool_call", id: part.toolCallId, name: part.toolName, arguments: part.input };
    case "tool-result":
      return { type: "tool_call_response", id: part.toolCallId, response: part.output };
    case "file":
      return { type: "file", mime_type: part.mediaType };
    default:
      return { type: "other" };
  }
}

/** Returns JSON text. A description replaces a value that JSON cannot express, so this never throws. */
function json(value: unknown): string {
  try {
    return JSON.stringify(value, shownValue) ?? "null";
  } catch {
    return JSON.stringify("[not JSON]");
  }
}

function shownValue(this: Readonly<Record<string, unknown>>, key: string, value: unknown): unknown {
  // `value` is the result of `toJSON`, which lists the bytes of a Buffer. So the original value is checked.
  const before = this[key];
  if (before instanceof Uint8Array) return `[${before.length} bytes]`;
  if (value instanceof Map || value instanceof Set) return [...value];
  return typeof value === "bigint" ? value.toString() : value;
}

/** Returns the name of a provider in the OpenTelemetry conventions, such as `openai` for `openai.chat`. */
export function providerNameOf(provider: string): string {
  const found = known.find(([prefix]) => provider === prefix || provider.startsWith(`${prefix}.`));
  if (found) return found[1];
  return /^(?:openai|anthropic|cohere|deepseek|groq|perplexity)(?=\.)/.exec(provider)?.[0] ?? provider;
}
