import type { ContentPart } from "../../../checkpoint/messages/Message.ts";
import { parsedJson } from "../../../internal/parsedJson.ts";
import type { HostedResponse } from "../../hosted/HostedLoop.ts";
import { usageOf } from "../../ai-sdk/aiSdkResponse.ts";
import type { ProviderGeneration, ProviderPart, ProviderMessage } from "../../ai-sdk/AiSdkLanguageModel.ts";
import { isOwnCall, leftOut } from "../../ai-sdk/StreamedGeneration.ts";

/** The metadata key under which messages keep the provider's id of a call, so that later runs can read it. */
const key = "agent-persistence";

/** An empty text part. The part contains a part of the response whose type the log does not know. */
interface CarriedPart {
  readonly type: "text";
  readonly text: "";
  readonly part: ProviderPart;
}

/** The fields of a response other than its message. Headers and bodies are never included. */
interface Opaque {
  readonly order?: readonly number[] | undefined;
  readonly finishReason: unknown;
  readonly usage: unknown;
  readonly providerMetadata?: unknown;
  readonly warnings?: readonly unknown[] | undefined;
  readonly structuredOutputText?: string | undefined;
  readonly response: { readonly id: string; readonly at: string; readonly modelId: string };
}

/** Adds a missing id, time and model, because the AI SDK would generate different ones in each replay. */
export function identified(generation: ProviderGeneration, modelId: string): ProviderGeneration {
  const { id = crypto.randomUUID(), timestamp = new Date(), ...response } = generation.response ?? {};
  return { ...generation, response: { ...response, id, timestamp, modelId: response.modelId ?? modelId } };
}

/** Converts a response to the form of the log. Its tool calls have the provider's ids. */
export function hostedResponseOf(generation: ProviderGeneration): HostedResponse {
  const { content, order, finishReason, usage, providerMetadata, structuredOutputText, response } = generation;
  const opaque: Opaque = {
    order,
    finishReason,
    usage,
    providerMetadata,
    warnings: generation.warnings?.length ? generation.warnings : undefined,
    structuredOutputText,
    response: {
      id: response?.id ?? "",
      at: (response?.timestamp ?? new Date(0)).toISOString(),
      modelId: response?.modelId ?? "",
    },
  };
  return {
    message: { role: "assistant", content: content.map(storedPart) },
    opaque: withoutUndefinedDeep(opaque),
    usage: usageOf(usage),
    finishReason: wordOf(finishReason),
  };
}

/** Restores a response from the log. Its tool calls have the library's ids. */
export function generationOf({ message, opaque }: HostedResponse): ProviderGeneration {
  const { response, order, ...rest } = opaque as Opaque;
  const parts = typeof message.content === "string" ? [] : message.content.map(providerPart);
  const ordered = order?.flatMap((index) => parts[index] ?? []) ?? parts;
  const content = ordered.filter(({ type }) => type !== leftOut);
  const { id, at, modelId } = response;
  return { warnings: [], ...rest, content, response: { id, timestamp: new Date(at), modelId } };
}

function storedPart(part: ProviderPart): ContentPart {
  const known = part.type === "text" || part.type === "reasoning" || isOwnCall(part);
  if (!known) return { type: "text", text: "", part: withoutUndefinedDeep(part) } as CarriedPart;
  const input = part.type === "tool-call" && { input: parsedInput(part["input"]) };
  return withoutUndefinedDeep({ ...part, ...input }) as unknown as ContentPart;
}

function providerPart(part: ContentPart): ProviderPart {
  if ("part" in part) return (part as CarriedPart).part;
  if (part.type !== "tool-call") return { ...part };
  const { providerToolCallId: provided = part.toolCallId, input, ...call } = part;
  return withCallId(
    { ...call, input: typeof input === "string" ? input : JSON.stringify(input) },
    { own: part.toolCallId, provided },
  );
}

/** Parses the input of a call, so that it is stored only once. Text that is not a JSON object or list stays text. */
function parsedInput(text: unknown): unknown {
  if (typeof text !== "string") return text;
  const parsed = parsedJson(text);
  return typeof parsed === "object" && parsed !== null ? parsed : text;
}

function wordOf(finishReason: unknown): string | undefined {
  const word = (Object(finishReason) as { readonly unified?: unknown }).unified ?? finishReason;
  return typeof word === "string" ? word : undefined;
}

function withoutUndefinedDeep<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => withoutUndefinedDeep(item)) as Value;
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries.map(([key, item]) => [key, withoutUndefinedDeep<unknown>(item)])) as Value;
}

type Metadata = Readonly<Record<string, unknown>>;

/** Returns a tool call with the library's id and the provider's id in its metadata. */
export function withCallId(
  part: ProviderPart,
  ids: { readonly own: unknown; readonly provided: unknown },
): ProviderPart {
  const { own, provided } = ids;
  if (own === provided) return { ...part, toolCallId: own };
  const metadata = { ...(part["providerMetadata"] as Metadata | undefined), [key]: { toolCallId: provided } };
  return { ...part, toolCallId: own, providerMetadata: metadata };
}

/** Returns the provider's call id of a prompt part. `undefined` if the part has none. */
function providedId({ providerOptions }: ProviderPart): string | undefined {
  const { toolCallId } = Object((providerOptions as Metadata | undefined)?.[key]) as { readonly toolCallId?: unknown };
  return typeof toolCallId === "string" ? toolCallId : undefined;
}

/** Removes the provider's call id from the options of a prompt part, because the model must not see it. */
function withoutProvidedId(part: ProviderPart): ProviderPart {
  if (providedId(part) === undefined) return part;
  const { providerOptions, ...rest } = part;
  const { [key]: _id, ...options } = providerOptions as Metadata;
  return Object.keys(options).length > 0 ? { ...rest, providerOptions: options } : (rest as ProviderPart);
}

/** Returns a prompt in which calls of this run and of earlier runs have the ids of the provider. */
export function promptWithProviderIds(prompt: readonly ProviderMessage[]): readonly ProviderMessage[] {
  const ids = new Map(
    prompt.flatMap(({ content }) => (typeof content === "string" ? [] : content.flatMap((part) => idsOf(part)))),
  );
  const partOf = (part: ProviderPart): ProviderPart => {
    const known = ids.get(part["toolCallId"]);
    return known === undefined ? part : { ...withoutProvidedId(part), toolCallId: known };
  };
  return prompt.map((message) =>
    typeof message.content === "string" ? message : { ...message, content: message.content.map(partOf) },
  );
}

function idsOf(part: ProviderPart): (readonly [own: unknown, provided: string])[] {
  const provided = providedId(part);
  return provided === undefined ? [] : [[part["toolCallId"], provided]];
}
