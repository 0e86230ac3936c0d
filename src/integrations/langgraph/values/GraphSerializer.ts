import { type SerializerProtocol, DeltaSnapshot } from "@langchain/langgraph-checkpoint";
import { UnreadableValueError, NotSerializableError } from "../../../errors/storedDataErrors.ts";
import { type Json, isTagged, tag, type Tagged } from "./Json.ts";
import { Document } from "@langchain/core/documents";
import { classNamed, nameOfClass } from "../../../checkpoint/values/classRegistry.ts";
import { bigintOf, unsupportedBigint, unsupportedShape, keyPath } from "../../../checkpoint/values/unsupportedShape.ts";
import { fromBase64Url, toBase64Url } from "../../../internal/bytes.ts";
import { withoutUndefined } from "../../../internal/withoutUndefined.ts";
import { messageOf, messageClassOf, messageFields } from "./messageFields.ts";
import { define, maximumDepth } from "../../../internal/frozenCopy.ts";

/**
 * The default serializer of `PersistenceSaver`. Stores JSON, messages and documents of LangChain, `Send`, `Overwrite`,
 * `Command`, errors, Date, Map, Set, bigint, bytes, URL, RegExp, undefined, NaN and instances of classes registered
 * with `registerClass`. Rejects other values, because they would be read back changed.
 */
export class GraphSerializer implements SerializerProtocol {
  /** @throws NotSerializableError with the path of the unsupported value */
  async dumpsTyped(value: unknown): Promise<[string, Uint8Array]> {
    return ["graph", new TextEncoder().encode(JSON.stringify(encodeGraphValue(value, "a value of a graph")))];
  }

  /** @throws UnreadableValueError for data of another serializer and for damaged data */
  async loadsTyped(type: string, data: Uint8Array | string): Promise<unknown> {
    if (type !== "graph") throw new UnreadableValueError(`it was stored by a serializer of the type "${type}"`);
    const text = typeof data === "string" ? data : new TextDecoder().decode(data);
    return decodeGraphValue(jsonOf(text));
  }
}

function jsonOf(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    throw new UnreadableValueError("it is not valid JSON", { cause: error });
  }
}

/** Decodes a stored value. Creates only types that {@link encodeGraphValue} accepts. @throws UnreadableValueError */
export function decodeGraphValue(json: Json): unknown {
  if (typeof json !== "object" || json === null) return json;
  if (Array.isArray(json)) return json.map((item: Json) => decodeGraphValue(item));
  return isTagged(json) ? decodeTagged(json) : decodeFields(json as Readonly<Record<string, Json>>, {});
}

function decodeFields(fields: unknown, target: object): object {
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) unreadable("its fields are malformed");
  for (const [key, item] of Object.entries(fields as Readonly<Record<string, Json>>))
    define(target, key, decodeGraphValue(item));
  return target;
}

const decoders: Readonly<Record<string, (tagged: Tagged) => unknown>> = {
  undefined: () => undefined,
  plain: ({ f }) => decodeFields(f, {}),
  number: ({ v }) => decodedNumber(v),
  bigint: ({ v }) => bigintOf(v),
  date: ({ v }) => (typeof v === "number" ? new Date(v) : unreadable("a date is not a number")),
  map: ({ v }) => new Map(listOf(v).map((pair) => pairOf(decodeGraphValue(pair)))),
  set: ({ v }) => new Set(listOf(v).map(decodeGraphValue)),
  bytes: ({ v }) => fromBase64Url(textOf(v)) ?? unreadable("bytes are not base64url"),
  url: ({ v }) => new URL(textOf(v)),
  regexp: ({ v }) => new RegExp(textOf(listOf(v)[0]), textOf(listOf(v)[1])),
  error: ({ v }) => errorOf(textOf(listOf(v)[0]), textOf(listOf(v)[1])),
  document: ({ f }) => new Document(decodeFields(f, {}) as { pageContent: string }),
  snapshot: ({ v }) => new DeltaSnapshot(decodeGraphValue(v ?? null)),
  class: ({ v, f }) => instanceOf(textOf(v), f),
};

function decodeTagged(tagged: Tagged): unknown {
  const type = tagged[tag];
  if (typeof type !== "string") unreadable("a type has no name");
  try {
    if (type.startsWith("lc:")) return decodeMessage(type.slice(3), tagged);
    const decoder = Object.hasOwn(decoders, type) ? decoders[type] : undefined;
    return decoder ? decoder(tagged) : unreadable(`it has the unknown type ${JSON.stringify(type)}`);
  } catch (error) {
    if (error instanceof UnreadableValueError) throw error;
    throw new UnreadableValueError(`it is not a valid ${type}`, { cause: error });
  }
}

function decodeMessage(name: string, { f }: Tagged): object {
  const message = messageOf(name, decodeFields(f, {}) as Readonly<Record<string, unknown>>);
  return message ?? unreadable(`it has the unknown message type ${JSON.stringify(name)}`);
}

function decodedNumber(json: Json | undefined): number {
  if (json === "-0") return -0;
  return json === "NaN" || json === "Infinity" || json === "-Infinity"
    ? Number(json)
    : unreadable("a number has an unknown name");
}

function errorOf(name: string, message: string): Error {
  const error = new Error(message);
  if (name !== error.name) error.name = name;
  return error;
}

function instanceOf(name: string, fields: Json | undefined): object {
  const storable = classNamed(name);
  if (storable === undefined)
    unreadable(`no class is registered as "${name}"; call registerClass("${name}", …) before reading`);
  return decodeFields(fields, Object.create(storable.prototype as object) as object);
}

function listOf(json: Json | undefined): readonly Json[] {
  return Array.isArray(json) ? (json as readonly Json[]) : unreadable("a list is not an array");
}

function pairOf(value: unknown): [unknown, unknown] {
  return Array.isArray(value) && value.length === 2
    ? (value as [unknown, unknown])
    : unreadable("a map entry is not a pair");
}

function textOf(json: Json | undefined): string {
  return typeof json === "string" ? json : unreadable("a text is not a string");
}

function unreadable(reason: string): never {
  throw new UnreadableValueError(reason);
}

interface Walk {
  readonly subject: string;
  readonly ancestors: Set<object>;
  objects: number;
  readonly path: (string | number)[];
}

/**
 * Encodes a value of a graph. Supports JSON, messages and documents of LangChain, `Send`, `Overwrite`, `Command`,
 * errors, Date, Map, Set, bigint, bytes, URL, RegExp, undefined, NaN, ±Infinity, -0 and instances of registered
 * classes. The result shares no objects with the value.
 *
 * @param subject names the value in errors
 * @throws NotSerializableError for a value that could not be restored
 */
export function encodeGraphValue(value: unknown, subject: string): Json {
  return encode(value, { subject, ancestors: new Set(), objects: 0, path: [] });
}

function encode(value: unknown, walk: Walk): Json {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return encodedNumber(value);
  if (value === undefined) return { [tag]: "undefined" };
  if (typeof value === "bigint") return bigintJson(value, walk);
  if (typeof value !== "object") return refuse(walk, `is a ${typeof value}`);
  if (walk.path.length > maximumDepth) return refuse(walk, `is nested deeper than ${maximumDepth} levels`);
  if (walk.ancestors.has(value)) return refuse(walk, "refers to something that contains it");
  walk.ancestors.add(value);
  const json = encodeObject(value, walk);
  walk.ancestors.delete(value);
  return json;
}

function bigintJson(value: bigint, walk: Walk): Json {
  const excess = unsupportedBigint(value);
  return excess === undefined ? { [tag]: "bigint", v: `${value}` } : refuse(walk, excess);
}

function encodedNumber(value: number): Json {
  if (Number.isFinite(value) && !Object.is(value, -0)) return value;
  return { [tag]: "number", v: Object.is(value, -0) ? "-0" : `${value}` };
}

function encodeObject(value: object, walk: Walk): Json {
  const defect = unsupportedShape(value, walk);
  if (defect !== undefined) return refuse(walk, defect);
  if (Array.isArray(value)) return encodeArray(value, walk);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return encodeInstance(value, walk);
  const fields = encodeFields(value, walk);
  return Object.hasOwn(fields, tag) ? { [tag]: "plain", f: fields } : fields;
}

function encodeArray(value: readonly unknown[], walk: Walk): Json {
  const items: Json[] = [];
  for (let at = 0; at < value.length; at++) {
    walk.path.push(at);
    if (!(at in value)) refuse(walk, "is a hole in an array");
    items.push(encode(value[at], walk));
    walk.path.pop();
  }
  return items;
}

function encodeFields(value: object, walk: Walk): Record<string, Json> {
  const fields: Record<string, Json> = {};
  for (const key of Object.keys(value)) {
    walk.path.push(key);
    const item = encode((value as Record<string, unknown>)[key], walk);
    walk.path.pop();
    define(fields, key, item);
  }
  return fields;
}

function encodeInstance(value: object, walk: Walk): Json {
  const message = messageClassOf(value);
  if (message !== undefined) return { [tag]: `lc:${message}`, f: encodeFields(messageFields(message, value), walk) };
  const builtIn = encodeBuiltIn(value, walk);
  if (builtIn !== undefined) return builtIn;
  const name = nameOfClass(value);
  if (name !== undefined) return { [tag]: "class", v: name, f: encodeFields(value, walk) };
  return encodeLangGraph(value, walk) ?? refuseInstance(value, walk);
}

function encodeBuiltIn(value: object, walk: Walk): Json | undefined {
  if (value instanceof Date) return dateOf(value, walk);
  if (value instanceof Map)
    return {
      [tag]: "map",
      v: encodeArray(
        [...value].map(([key, item]) => [key, item]),
        walk,
      ),
    };
  if (value instanceof Set) return { [tag]: "set", v: encodeArray([...value], walk) };
  if (value instanceof Uint8Array) return { [tag]: "bytes", v: toBase64Url(value) };
  if (value instanceof URL) return { [tag]: "url", v: value.href };
  if (value instanceof RegExp) return { [tag]: "regexp", v: [value.source, value.flags] };
  if (value instanceof Error) return { [tag]: "error", v: [value.name, value.message] };
  if (value instanceof Document) return { [tag]: "document", f: encodeFields(value, walk) };
  return undefined;
}

/** Encodes LangGraph objects in the plain form that LangGraph accepts as well. */
function encodeLangGraph(value: object, walk: Walk): Json | undefined {
  const { lg_name: name } = value as { readonly lg_name?: unknown };
  if (name === "DeltaSnapshot") return { [tag]: "snapshot", v: encode((value as { value: unknown }).value, walk) };
  if (name === "Overwrite") {
    const { __overwrite__ } = value as { readonly __overwrite__: unknown };
    return encodeFields({ __overwrite__ }, walk);
  }
  const fields = fieldsOfPlain(name, value);
  return fields && encodeFields(fields, walk);
}

/** Returns the fields of a LangGraph object. LangGraph accepts an object with these fields in place of an instance. */
function fieldsOfPlain(name: unknown, value: object): object | undefined {
  const { node, args, timeout, graph, update, resume, goto } = value as Readonly<Record<string, unknown>>;
  if (name === "Send") return { node, args, ...(timeout !== undefined && { timeout }) };
  return name === "Command" ? withoutUndefined({ lg_name: name, graph, update, resume, goto }) : undefined;
}

function dateOf(value: Date, walk: Walk): Json {
  const time = value.getTime();
  return Number.isNaN(time) ? refuse(walk, "is an invalid date") : { [tag]: "date", v: time };
}

function refuseInstance(value: object, walk: Walk): never {
  const name = (value as { readonly constructor?: { readonly name?: unknown } }).constructor?.name;
  return refuse(walk, `is an instance of ${typeof name === "string" && name !== "" ? name : "an unknown class"}`);
}

function refuse({ subject, path }: Walk, reason: string): never {
  const place = path.map((step) => (typeof step === "number" ? `[${step}]` : keyPath(step))).join("");
  throw new NotSerializableError(subject, place, reason);
}
