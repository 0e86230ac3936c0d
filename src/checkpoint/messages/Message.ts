/** A message, in the shape of the AI SDK. Messages are never changed: the runtime keeps frozen copies. */
export type Message =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: string | readonly ContentPart[] }
  | { readonly role: "assistant"; readonly content: string | readonly ContentPart[] }
  | { readonly role: "tool"; readonly content: readonly ContentPart[] };
/**
 * A part of a message. `toolCallId` is the library's own id. `providerToolCallId` is the id that the provider gave and gets
 * back. The data of a file is bytes, base64 text or a URL as text. A `custom` part holds content that only its provider
 * understands, in its `providerOptions`.
 */
export type ContentPart =
  | { readonly type: "text"; readonly text: string; readonly providerOptions?: ProviderOptions }
  | { readonly type: "reasoning"; readonly text: string; readonly providerOptions?: ProviderOptions }
  | {
      readonly type: "file";
      readonly data: string | Uint8Array;
      readonly mediaType: string;
      readonly filename?: string;
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
/** What is particular to a provider; kept and handed back to it. */
export type ProviderOptions = Readonly<Record<string, unknown>>;

/** What a model answers. */
export type AssistantMessage = Extract<Message, { role: "assistant" }>;
/** The results of the calls that an answer asked for. */
export type ToolMessage = Extract<Message, { role: "tool" }>;
