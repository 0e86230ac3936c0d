import type { ContentPart } from "../../../checkpoint/messages/Message.ts";
import { randomId } from "../../../internal/randomId.ts";
import type { HostedAnswer } from "../../hosted/HostedLoop.ts";
import { usageOf } from "../../ai-sdk/usageOf.ts";
import { withCallId } from "./providerCallId.ts";
import type { ProviderGeneration, ProviderPart } from "./ProviderModel.ts";

/** The type of a part that keeps the place of a call which was begun and not made. */
export const leftOut = "left-out";

/** A part that the log has no form of its own for: an empty text that carries it. */
interface CarriedPart {
  readonly type: "text";
  readonly text: "";
  readonly part: ProviderPart;
}

/** What else a generation has. Never headers or bodies. */
interface Opaque {
  readonly finishReason: unknown;
  readonly usage: unknown;
  readonly providerMetadata?: unknown;
  readonly warnings?: readonly unknown[];
  readonly structuredOutputText?: string;
  readonly response: { readonly id: string; readonly at: string; readonly modelId: string };
}

/** Fills in what the AI SDK would make up anew at each repetition. */
export function identified(generation: ProviderGeneration, modelId: string): ProviderGeneration {
  const { id = randomId(), timestamp = new Date(), ...response } = generation.response ?? {};
  return { ...generation, response: { ...response, id, timestamp, modelId: response.modelId ?? modelId } };
}

/** A generation as the log holds it. Its tool calls have the ids of the provider. */
export function answerOf(generation: ProviderGeneration): HostedAnswer {
  const { content, finishReason, usage, providerMetadata, warnings = [], structuredOutputText, response } = generation;
  const opaque: Opaque = {
    finishReason,
    usage,
    ...(providerMetadata !== undefined && { providerMetadata }),
    ...(warnings.length > 0 && { warnings }),
    ...(structuredOutputText !== undefined && { structuredOutputText }),
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

/** The generation that an answer was made of. Its tool calls have the ids of the library. */
export function generationOf({ message, opaque }: HostedAnswer): ProviderGeneration {
  const { response, ...rest } = opaque as Opaque;
  const parts = typeof message.content === "string" ? [] : message.content.map(providerPart);
  const content = parts.filter(({ type }) => type !== leftOut);
  const { id, at, modelId } = response;
  return { warnings: [], ...rest, content, response: { id, timestamp: new Date(at), modelId } };
}

/** Whether a part asks for a call that the library makes: one that the provider does not make itself. */
export function isOwnCall(part: ProviderPart): boolean {
  return part.type === "tool-call" && part["providerExecuted"] !== true;
}

function storedPart(part: ProviderPart): ContentPart {
  const known = part.type === "text" || part.type === "reasoning" || isOwnCall(part);
  if (!known) return { type: "text", text: "", part: withoutUndefinedDeep(part) } as CarriedPart;
  const input = part.type === "tool-call" && { input: parsedInput(part["input"]) };
  // A part of one of these types has their fields.
  return withoutUndefinedDeep({ ...part, ...input }) as unknown as ContentPart;
}

function providerPart(part: ContentPart): ProviderPart {
  if ("part" in part) return (part as CarriedPart).part;
  if (part.type !== "tool-call") return { ...part };
  const { providerToolCallId: provided = part.toolCallId, input, ...call } = part;
  return withCallId({ ...call, input: textOfInput(input) }, { own: part.toolCallId, provided });
}

/** The input as a value, so that it is stored once with the call. A text that is not that of an object stays as it is. */
function parsedInput(text: unknown): unknown {
  if (typeof text !== "string") return text;
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && parsed !== null ? parsed : text;
  } catch {
    return text;
  }
}

function textOfInput(input: unknown): string {
  return typeof input === "string" ? input : JSON.stringify(input);
}

function wordOf(finishReason: unknown): string | undefined {
  const word = (Object(finishReason) as { readonly unified?: unknown }).unified ?? finishReason;
  return typeof word === "string" ? word : undefined;
}

/** Fields that are `undefined` are absent from what is stored. */
function withoutUndefinedDeep<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => withoutUndefinedDeep(item)) as Value;
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries.map(([key, item]) => [key, withoutUndefinedDeep<unknown>(item)])) as Value;
}
