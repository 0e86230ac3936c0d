import type { ProviderOptions } from "../../checkpoint/messages/Message.ts";
import type { TaggedFileData } from "./fileData.ts";

/** The messages of a request. `Data` is the content type of files in the specification version. */
export type AiSdkPrompt<Data> = AiSdkMessage<Data>[];

export type AiSdkMessage<Data> =
  | { role: "system"; content: string }
  | { role: "user"; content: (TextPart | FilePart<Data>)[] }
  | { role: "assistant"; content: AiSdkPart<Data>[] }
  | { role: "tool"; content: ToolResultPart[] };

export type AiSdkPart<Data> =
  | TextPart
  | FilePart<Data>
  | ReasoningPart
  | ToolCallPart
  | ToolResultPart
  | CustomPart<Data>;

interface TextPart extends WithOptions {
  type: "text";
  text: string;
}

interface FilePart<Data> extends WithOptions {
  type: "file";
  data: Data;
  mediaType: string;
  filename?: string;
}

interface ReasoningPart extends WithOptions {
  type: "reasoning";
  text: string;
}

/** Content that only one provider understands. Only v4 supports it. */
type CustomPart<Data> = Data extends TaggedFileData
  ? { type: "custom"; kind: `${string}.${string}` } & WithOptions
  : never;

interface ToolCallPart extends WithOptions {
  type: "tool-call";
  toolCallId: string;
  toolName: string;
  input: unknown;
}

interface ToolResultPart extends WithOptions {
  type: "tool-result";
  toolCallId: string;
  toolName: string;
  output: AiSdkToolOutput;
}

export type AiSdkToolOutput =
  | { type: "text" | "error-text"; value: string }
  | { type: "json" | "error-json"; value: JsonValue };

export type JsonValue = null | string | number | boolean | JsonValue[] | { [key: string]: JsonValue };

interface WithOptions {
  providerOptions?: Record<string, Record<string, JsonValue>>;
}

/** Converts provider options. Providers validate the nested records themselves. */
export function optionsOf(options: ProviderOptions | undefined): WithOptions {
  return options === undefined ? {} : { providerOptions: options as Record<string, Record<string, JsonValue>> };
}
