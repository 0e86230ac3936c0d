import type { ContentPart, Message } from "../../checkpoint/messages/Message.ts";
import { UnsupportedMessagePartError } from "../../errors/modelErrors.ts";
import {
  type AiSdkMessage,
  type AiSdkPart,
  type AiSdkPrompt,
  type AiSdkToolOutput,
  optionsOf,
  jsonValueOf,
  shownInputOf,
} from "./AiSdkPrompt.ts";

interface Specification<Data> {
  readonly fileDataOf: (data: string | Uint8Array) => Data;
  /** Whether prompts support `custom` parts, which are otherwise dropped. */
  readonly custom: boolean;
}

interface Conversion<Data> extends Specification<Data> {
  readonly providerIds: ReadonlyMap<string, string>;
}

/** Converts messages to a prompt with the provider's tool-call ids and without empty texts and messages. */
export function promptOf<Data>(messages: readonly Message[], specification: Specification<Data>): AiSdkPrompt<Data> {
  const conversion = { providerIds: providerToolCallIds(messages), ...specification };
  return messages.map((message) => messageOf(message, conversion)).filter(({ content }) => content.length > 0);
}

function messageOf<Data>(message: Message, conversion: Conversion<Data>): AiSdkMessage<Data> {
  switch (message.role) {
    case "system":
      return { role: "system", content: message.content };
    case "user":
      return { role: "user", content: partsOf(message, ["text", "file"], conversion) };
    case "assistant": {
      const types = ["text", "file", "reasoning", "tool-call", "tool-result", "custom"] as const;
      return { role: "assistant", content: partsOf(message, types, conversion) };
    }
    case "tool":
      return { role: "tool", content: partsOf(message, ["tool-result"], conversion) };
  }
}

function partsOf<Data, Type extends ContentPart["type"]>(
  { role, content }: Exclude<Message, { role: "system" }>,
  types: readonly Type[],
  conversion: Conversion<Data>,
): Extract<AiSdkPart<Data>, { type: Type }>[] {
  const parts: readonly ContentPart[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  const isSent = (part: ContentPart) => isSaid(part) && (part.type !== "custom" || conversion.custom);
  return parts.filter(isSent).map((part) => {
    if (!types.some((type) => type === part.type)) throw new UnsupportedMessagePartError(role, part.type, types);
    return partOf(part, conversion) as Extract<AiSdkPart<Data>, { type: Type }>;
  });
}

/** Providers reject empty texts. An empty text with options is kept, because it may mark a cache point. */
function isSaid(part: ContentPart): boolean {
  return part.type !== "text" || part.text !== "" || part.providerOptions !== undefined;
}

function partOf<Data>(part: ContentPart, { providerIds, fileDataOf }: Conversion<Data>): AiSdkPart<Data> {
  const options = optionsOf(part.providerOptions);
  switch (part.type) {
    case "text":
    case "reasoning":
      return { type: part.type, text: part.text, ...options };
    case "custom":
      return { type: "custom", kind: part.kind, ...options } as AiSdkPart<Data>;
    case "file": {
      const named = part.filename === undefined ? {} : { filename: part.filename };
      return { type: "file", data: fileDataOf(part.data), mediaType: part.mediaType, ...named, ...options };
    }
    case "tool-call": {
      const toolCallId = part.providerToolCallId ?? part.toolCallId;
      return { type: "tool-call", toolCallId, toolName: part.toolName, input: shownInputOf(part.input), ...options };
    }
    case "tool-result": {
      const toolCallId = part.providerToolCallId ?? providerIds.get(part.toolCallId) ?? part.toolCallId;
      const output = toolOutputOf(part.output, part.isError === true);
      return { type: "tool-result", toolCallId, toolName: part.toolName, output, ...options };
    }
  }
}

function toolOutputOf(output: unknown, isError: boolean): AiSdkToolOutput {
  if (typeof output === "string") return { type: isError ? "error-text" : "text", value: output };
  return { type: isError ? "error-json" : "json", value: jsonValueOf(output) };
}

/** Maps the library's call ids to the provider's ids, because a tool result may not carry the provider's id. */
function providerToolCallIds(messages: readonly Message[]): ReadonlyMap<string, string> {
  const ids = new Map<string, string>();
  for (const { role, content } of messages) {
    if (role !== "assistant" || typeof content === "string") continue;
    for (const part of content) {
      if (part.type === "tool-call" && part.providerToolCallId !== undefined) {
        ids.set(part.toolCallId, part.providerToolCallId);
      }
    }
  }
  return ids;
}
