import { toBase64 } from "../../internal/bytes.ts";
import type { ProviderOptions, ContentPart, Message } from "../../checkpoint/messages/Message.ts";
import { UnsupportedMessagePartError } from "../../errors/modelErrors.ts";

const base64DataUrl = /^data:[^,]*;base64,/i;

/** The messages of a request. `Data` is the type of file contents in a version of the specification. */
export type AiSdkPrompt<Data> = AiSdkMessage<Data>[];

export type AiSdkMessage<Data> =
  | { role: "system"; content: string }
  | { role: "user"; content: (TextPart | FilePart<Data>)[] }
  | { role: "assistant"; content: AiSdkPart<Data>[] }
  | { role: "tool"; content: ToolResultPart[] };

export type AiSdkPart<Data> =
  | TextPart
  | FilePart<Data>
  | TextPart<"reasoning">
  | ReasoningFilePart<Data>
  | ToolCallPart
  | ToolResultPart
  | CustomPart<Data>;

interface TextPart<Type = "text"> extends WithOptions {
  type: Type;
  text: string;
}

interface FilePart<Data> extends WithOptions {
  type: "file";
  data: Data;
  mediaType: string;
  filename?: string;
}

/** A file that a model generated while it reasoned. Only specification v4 supports `reasoning-file` parts. */
type ReasoningFilePart<Data> = Data extends TaggedFileData
  ? { type: "reasoning-file"; data: Data; mediaType: string } & WithOptions
  : never;

/** Content that only one provider understands. Only specification v4 supports `custom` parts. */
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

/** Converts provider options. Does not check the options, because providers do. */
export function optionsOf(options: ProviderOptions | undefined): WithOptions {
  return options === undefined ? {} : { providerOptions: options as Record<string, Record<string, JsonValue>> };
}

/** The content of a file in specification v2 and v3: bytes, base64 text or a URL. */
export type FileData = Uint8Array | string | URL;

/** The content of a file in specification v4. */
export type TaggedFileData = { type: "data"; data: Uint8Array | string } | { type: "url"; url: URL };

/** Tells URLs from base64 text, because messages contain both as text. */
export function fileDataOf(data: string | Uint8Array): FileData {
  if (typeof data !== "string") return data;
  const prefix = base64DataUrl.exec(data);
  if (prefix !== null) return data.slice(prefix[0].length);
  return URL.canParse(data) ? new URL(data) : data;
}

/** Returns the result of {@link fileDataOf} in the form of the specification v4. */
export function taggedFileDataOf(data: string | Uint8Array): TaggedFileData {
  const content = fileDataOf(data);
  return content instanceof URL ? { type: "url", url: content } : { type: "data", data: content };
}

/** Converts a file that a model generated to the form that messages use. */
export function messageDataOf(data: string | Uint8Array | TaggedFileData): string | Uint8Array {
  if (typeof data === "string" || data instanceof Uint8Array) return data;
  return data.type === "url" ? data.url.href : data.data;
}

/**
 * Converts a value to JSON for a model. A map with string keys becomes an object, any other map a list of pairs, a set
 * a list, and bytes base64. A bigint becomes its digits, `NaN` its name, and `undefined` becomes `null`.
 */
export function jsonValueOf(value: unknown): JsonValue {
  const text: string | undefined = JSON.stringify(value, function (this: Record<string, unknown>, key: string, after) {
    // `after` is the result of `toJSON`. Only `before` shows that a value was bytes.
    const before = this[key];
    return before instanceof Uint8Array ? toBase64(before) : plainOf(after);
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

/**
 * Parses the tool input that a model wrote. Invalid JSON stays text, so that the schema of the tool rejects it and the
 * model sees the error. Empty text becomes an empty object, because some models write it for a tool without parameters.
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
 * Converts a tool input for a later request. Providers reject a whole request if one input is not an object. So an
 * input that is not an object becomes an empty object. The result of that call already reports the mistake.
 */
export function shownInputOf(input: unknown): JsonValue {
  const value = jsonValueOf(input);
  return typeof value === "object" && value !== null ? value : {};
}

interface Specification<Data> {
  readonly fileDataOf: (data: string | Uint8Array) => Data;
  /** Whether prompts support `custom` and `reasoning-file` parts. If `false`, these parts are dropped. */
  readonly isV4: boolean;
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
  const isSent = (part: ContentPart) => isSaid(part) && (conversion.isV4 || !isOnlyInV4(part));
  return parts.filter(isSent).map((part) => {
    if (!types.some((type) => type === part.type)) throw new UnsupportedMessagePartError(role, part.type, types);
    return partOf(part, conversion) as Extract<AiSdkPart<Data>, { type: Type }>;
  });
}

function isOnlyInV4(part: ContentPart): boolean {
  return part.type === "custom" || (part.type === "file" && part.reasoning === true);
}

/** Whether a part is sent. Providers reject empty texts, but the options of an empty text can mark a cache point. */
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
      const file = { data: fileDataOf(part.data), mediaType: part.mediaType, ...options };
      if (part.reasoning) return { type: "reasoning-file", ...file } as AiSdkPart<Data>;
      return { type: "file", ...file, ...(part.filename !== undefined && { filename: part.filename }) };
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

/** Maps the library's call ids to the ids of the provider, because tool results can lack the provider's id. */
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
