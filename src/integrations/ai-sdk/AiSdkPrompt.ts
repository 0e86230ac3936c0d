import type { ProviderOptions } from "../../checkpoint/messages/Message.ts";

const base64DataUrl = /^data:[^,]*;base64,/i;

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

/** The content of a file in specification v2 and v3: bytes, base64 text or a URL. */
export type FileData = Uint8Array | string | URL;

/** The content of a file in specification v4. */
export type TaggedFileData = { type: "data"; data: Uint8Array | string } | { type: "url"; url: URL };

/** Separates URLs from base64 text, because messages hold both as text. */
export function fileDataOf(data: string | Uint8Array): FileData {
  if (typeof data !== "string") return data;
  const prefix = base64DataUrl.exec(data);
  if (prefix !== null) return data.slice(prefix[0].length);
  return URL.canParse(data) ? new URL(data) : data;
}

/** Returns the result of {@link fileDataOf} in the form of v4. */
export function taggedFileDataOf(data: string | Uint8Array): TaggedFileData {
  const content = fileDataOf(data);
  return content instanceof URL ? { type: "url", url: content } : { type: "data", data: content };
}

/** Converts a file that a model generated to the form of messages, from any specification version. */
export function messageDataOf(data: string | Uint8Array | TaggedFileData): string | Uint8Array {
  if (typeof data === "string" || data instanceof Uint8Array) return data;
  return data.type === "url" ? data.url.href : data.data;
}

/**
 * Converts a value to JSON for a model. A map with string keys becomes an object, any other map a list of pairs, a set
 * a list, and bytes base64. Bigints become their digits, numbers such as `NaN` their names, and `undefined` becomes
 * `null`.
 */
export function jsonValueOf(value: unknown): JsonValue {
  const text: string | undefined = JSON.stringify(value, function (this: Record<string, unknown>, key: string, after) {
    // `after` is the result of toJSON, so bytes are detected from `before`.
    const before = this[key];
    return before instanceof Uint8Array ? base64Of(before) : plainOf(after);
  });
  return text === undefined ? null : (JSON.parse(text) as JsonValue);
}

function plainOf(value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  if (value instanceof Set) return [...value];
  if (!(value instanceof Map)) return value;
  const entries = [...value];
  return entries.every(([key]) => typeof key === "string") ? Object.fromEntries(entries) : entries;
}

function base64Of(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/**
 * Parses the tool input that a model wrote. Invalid JSON stays text, so that the tool's schema rejects it and the model
 * sees the error. Empty text, which some models write for a tool without parameters, becomes an empty object.
 */
export function toolInputOf(written: string): unknown {
  if (written.trim() === "") return {};
  try {
    return JSON.parse(written) as unknown;
  } catch {
    return written;
  }
}

/**
 * Converts a tool input for a later request. Providers accept only objects and would reject the whole request for a
 * malformed input. The result of that call already reports the mistake.
 */
export function shownInputOf(input: unknown): JsonValue {
  const value = jsonValueOf(input);
  return typeof value === "object" && value !== null ? value : {};
}
