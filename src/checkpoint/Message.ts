export type Message =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: string | readonly ContentPart[] }
  | { readonly role: "assistant"; readonly content: string | readonly ContentPart[] }
  | { readonly role: "tool"; readonly content: readonly ContentPart[] };
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
    };
export type ProviderOptions = Readonly<Record<string, unknown>>;

export type AssistantMessage = Extract<Message, { role: "assistant" }>;
export type ToolMessage = Extract<Message, { role: "tool" }>;
