/**
 * A message in the format of the AI SDK. The runtime keeps frozen copies. Maps, sets, dates and bytes are shared and
 * cannot be frozen, so do not change them. Replace the whole message.
 */
export type Message =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: string | readonly ContentPart[] }
  | { readonly role: "assistant"; readonly content: string | readonly ContentPart[] }
  | { readonly role: "tool"; readonly content: readonly ContentPart[] };
/**
 * A part of a message. `toolCallId` is the library's id. `providerToolCallId` is the provider's id, which is sent back
 * to the provider. File data is bytes, base64 text, or a URL as text. `reasoning` marks a file that a model generated while it reasoned.
 * Only one provider understands a `custom` part.
 */
export type ContentPart =
  | { readonly type: "text"; readonly text: string; readonly providerOptions?: ProviderOptions }
  | { readonly type: "reasoning"; readonly text: string; readonly providerOptions?: ProviderOptions }
  | {
      readonly type: "file";
      readonly data: string | Uint8Array;
      readonly mediaType: string;
      readonly filename?: string;
      readonly reasoning?: true;
      readonly providerOptions?: ProviderOptions;
    }
  | {
      readonly type: "tool-call";
      readonly toolCallId: string;
      readonly providerToolCallId?: string;
      readonly toolName: string;
      readonly input: unknown;
      readonly providerOptions?: ProviderOptions;
    }
  | {
      readonly type: "tool-result";
      readonly toolCallId: string;
      readonly providerToolCallId?: string;
      readonly toolName: string;
      readonly output: unknown;
      readonly isError?: boolean;
      readonly providerOptions?: ProviderOptions;
    }
  | { readonly type: "custom"; readonly kind: string; readonly providerOptions?: ProviderOptions };
/** Data for a provider. The library stores the data and sends it back to the provider. */
export type ProviderOptions = Readonly<Record<string, unknown>>;

export type AssistantMessage = Extract<Message, { role: "assistant" }>;
/** The results of the tool calls of a model response. */
export type ToolMessage = Extract<Message, { role: "tool" }>;

export function partsOfType<Type extends ContentPart["type"]>(
  message: Message | undefined,
  type: Type,
): readonly Extract<ContentPart, { readonly type: Type }>[] {
  if (!message || typeof message.content === "string") return [];
  return message.content.filter((part): part is Extract<ContentPart, { readonly type: Type }> => part.type === type);
}

export function callIdsIn(message: AssistantMessage): readonly string[] {
  return partsOfType(message, "tool-call").map(({ toolCallId }) => toolCallId);
}

export function isMessage(value: unknown): value is Message {
  const { role, content } = Object(value) as Partial<Message>;
  return typeof role === "string" && (typeof content === "string" || Array.isArray(content));
}
