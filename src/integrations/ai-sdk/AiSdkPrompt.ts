import { toBase64 } from "../../internal/bytes.ts";
import { parsedJson } from "../../internal/parsedJson.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { type ContentPart, type Message, partsOfType } from "../../checkpoint/messages/Message.ts";
import type { ProviderMessage, ProviderPart } from "./AiSdkLanguageModel.ts";
import { UnsupportedMessagePartError } from "../../errors/modelErrors.ts";

const base64DataUrl = /^data:[^,]*;base64,/i;

/** The content of a file in specification v2 and v3: bytes, base64 text or a URL. */
type FileData = Uint8Array | string | URL;

/** The content of a file in specification v4. */
export type TaggedFileData = { type: "data"; data: Uint8Array | string } | { type: "url"; url: URL };

/** Tells URLs from base64 text, because messages contain both as text. */
function fileDataOf(data: string | Uint8Array): FileData {
  if (typeof data !== "string") return data;
  const prefix = base64DataUrl.exec(data);
  if (prefix !== null) return data.slice(prefix[0].length);
  return URL.canParse(data) ? new URL(data) : data;
}

/** Returns the result of {@link fileDataOf} in the form of the specification v4. */
function taggedFileDataOf(data: string | Uint8Array): TaggedFileData {
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
function jsonValueOf(value: unknown): unknown {
  const text: string | undefined = JSON.stringify(value, function (this: Record<string, unknown>, key: string, after) {
    // `after` is the result of `toJSON`. Only `before` shows that a value was bytes.
    const before = this[key];
    return before instanceof Uint8Array ? toBase64(before) : plainOf(after);
  });
  return text === undefined ? null : JSON.parse(text);
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
  const parsed = parsedJson(written);
  return parsed === undefined ? written : parsed;
}

/**
 * Converts a tool input for a later request. Providers reject a whole request if one input is not an object. So an
 * input that is not an object becomes an empty object. The result of that call already reports the mistake.
 */
function shownInputOf(input: unknown): unknown {
  const value = jsonValueOf(input);
  return typeof value === "object" && value !== null ? value : {};
}

interface Conversion {
  /** Whether the prompt has the form of specification v4. Earlier forms drop `custom` and `reasoning-file` parts. */
  readonly isV4: boolean;
  readonly providerIds: ReadonlyMap<string, string>;
}

/** Converts messages to a prompt with the provider's tool-call ids and without empty texts and messages. */
export function promptOf(messages: readonly Message[], { isV4 }: Pick<Conversion, "isV4">): ProviderMessage[] {
  const conversion = { providerIds: providerToolCallIds(messages), isV4 };
  return messages.map((message) => messageOf(message, conversion)).filter(({ content }) => content.length > 0);
}

/** The types of the parts that a provider accepts in a message, by role. */
const typesOf = {
  user: ["text", "file"],
  assistant: ["text", "file", "reasoning", "tool-call", "tool-result", "custom"],
  tool: ["tool-result"],
} as const satisfies Record<string, readonly ContentPart["type"][]>;

function messageOf({ role, content }: Message, conversion: Conversion): ProviderMessage {
  if (role === "system") return { role, content };
  const types: readonly ContentPart["type"][] = typesOf[role];
  const parts: readonly ContentPart[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  const sent = parts.filter((part) => isSaid(part) && (conversion.isV4 || !isOnlyInV4(part)));
  const refused = sent.find(({ type }) => !types.includes(type));
  if (refused) throw new UnsupportedMessagePartError(role, refused.type, types);
  return { role, content: sent.map((part) => partOf(part, conversion)) };
}

function isOnlyInV4(part: ContentPart): boolean {
  return part.type === "custom" || (part.type === "file" && part.reasoning === true);
}

/** Whether a part is sent. Providers reject empty texts, but the options of an empty text can mark a cache point. */
function isSaid(part: ContentPart): boolean {
  return part.type !== "text" || part.text !== "" || part.providerOptions !== undefined;
}

function partOf(part: ContentPart, { providerIds, isV4 }: Conversion): ProviderPart {
  const options = part.providerOptions === undefined ? {} : { providerOptions: part.providerOptions };
  switch (part.type) {
    case "text":
    case "reasoning":
      return { type: part.type, text: part.text, ...options };
    case "custom":
      return { type: "custom", kind: part.kind, ...options };
    case "file":
      return { ...filePart(part, isV4), ...options };
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

function filePart(part: ContentPart & { readonly type: "file" }, isV4: boolean): ProviderPart {
  const { mediaType, filename } = part;
  const data = isV4 ? taggedFileDataOf(part.data) : fileDataOf(part.data);
  if (part.reasoning) return { type: "reasoning-file", data, mediaType };
  return withoutUndefined({ type: "file", data, mediaType, filename });
}

function toolOutputOf(output: unknown, isError: boolean): ProviderPart {
  if (typeof output === "string") return { type: isError ? "error-text" : "text", value: output };
  return { type: isError ? "error-json" : "json", value: jsonValueOf(output) };
}

/** Maps the library's call ids to the ids of the provider, because tool results can lack the provider's id. */
function providerToolCallIds(messages: readonly Message[]): ReadonlyMap<string, string> {
  const calls = messages.flatMap((message) => partsOfType(message, "tool-call"));
  return new Map(calls.map(({ toolCallId, providerToolCallId = toolCallId }) => [toolCallId, providerToolCallId]));
}
