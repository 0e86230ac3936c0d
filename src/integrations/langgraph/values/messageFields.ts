import * as messages from "@langchain/core/messages";

export type MessageFields = Readonly<Record<string, unknown>>;

type MessageClass = new (fields: never) => object;

const classes: ReadonlyMap<string, MessageClass> = new Map<string, MessageClass>([
  ["AIMessage", messages.AIMessage],
  ["AIMessageChunk", messages.AIMessageChunk],
  ["HumanMessage", messages.HumanMessage],
  ["HumanMessageChunk", messages.HumanMessageChunk],
  ["SystemMessage", messages.SystemMessage],
  ["SystemMessageChunk", messages.SystemMessageChunk],
  ["ToolMessage", messages.ToolMessage],
  ["ToolMessageChunk", messages.ToolMessageChunk],
  ["FunctionMessage", messages.FunctionMessage],
  ["FunctionMessageChunk", messages.FunctionMessageChunk],
  ["ChatMessage", messages.ChatMessage],
  ["ChatMessageChunk", messages.ChatMessageChunk],
  ["RemoveMessage", messages.RemoveMessage],
]);

interface LangChainObject {
  readonly lc_id: readonly string[];
  readonly lc_kwargs: Readonly<Record<string, unknown>>;
}

/** Fields that the constructors of messages set to an empty object by default, except for chunks. */
const filled: ReadonlySet<string> = new Set(["additional_kwargs", "response_metadata"]);

/** Fields that the constructor of an AI message sets to an empty list, unless `additional_kwargs` contains calls. */
const filledCalls: ReadonlySet<string> = new Set(["tool_calls", "invalid_tool_calls"]);

/** Returns the class name of a LangChain message, or `undefined` for other values and for subclasses. */
export function messageClassOf(value: object): string | undefined {
  if (!("lc_kwargs" in value) || !("lc_id" in value)) return undefined;
  const { lc_id: id } = value as LangChainObject;
  const [root, room, name, ...more] = id;
  const isMessage = root === "langchain_core" && room === "messages" && name !== undefined && more.length === 0;
  return isMessage && classes.has(name) ? name : undefined;
}

export function messageFields(name: string, message: object): MessageFields {
  const own = message as Record<string, unknown>;
  const given = (message as LangChainObject).lc_kwargs;
  const fields: Record<string, unknown> = {};
  const isFilled = filledFields(name, own);
  for (const key of Object.keys(given)) {
    const value = key in own ? own[key] : given[key];
    if (!isFilled(key) || !isUnset(value)) fields[key] = value;
  }
  for (const key of Object.keys(own))
    if (!(key in fields) && key !== "type" && !key.startsWith("lc_") && !isUnset(own[key])) fields[key] = own[key];
  return fields;
}

export function messageOf(name: string, fields: MessageFields): object | undefined {
  const Message = classes.get(name);
  return Message && new Message(fields as never);
}

/** Returns a test for the fields that a constructor sets by default. Empty default fields are not stored. */
function filledFields(name: string, own: Readonly<Record<string, unknown>>): (key: string) => boolean {
  const isWhole = !name.endsWith("Chunk");
  const withCalls = name === "AIMessage" && isUnset(own["additional_kwargs"]);
  return (key) => (isWhole && filled.has(key)) || (withCalls && filledCalls.has(key));
}

/** Returns whether a value is `undefined`, or an empty list or object, to which a constructor sets missing fields. */
function isUnset(value: unknown): boolean {
  if (value === undefined) return true;
  if (typeof value !== "object" || value === null) return false;
  return Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0;
}
