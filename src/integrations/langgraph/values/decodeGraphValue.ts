import { Document } from "@langchain/core/documents";
import { DeltaSnapshot } from "@langchain/langgraph-checkpoint";
import { classNamed } from "../../../checkpoint/values/classRegistry.ts";
import { bigintOf } from "../../../checkpoint/values/unsupportedShape.ts";
import { UnreadableValueError } from "../../../errors/storedDataErrors.ts";
import { fromBase64Url } from "../../../internal/bytes.ts";
import { isTagged, type Json, tag, type Tagged } from "./Json.ts";
import { messageOf } from "./messageFields.ts";

/** Decodes a stored form. It creates only types of {@link encodeGraphValue}. @throws UnreadableValueError */
export function decodeGraphValue(json: Json): unknown {
  if (typeof json !== "object" || json === null) return json;
  if (Array.isArray(json)) return json.map((item: Json) => decodeGraphValue(item));
  return isTagged(json) ? decodeTagged(json) : decodeFields(json as Readonly<Record<string, Json>>, {});
}

function decodeFields(fields: unknown, target: object): object {
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) unreadable("its fields are malformed");
  for (const [key, item] of Object.entries(fields as Readonly<Record<string, Json>>)) {
    const value = decodeGraphValue(item);
    if (key === "__proto__")
      Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
    else (target as Record<string, unknown>)[key] = value;
  }
  return target;
}

const decoders: Readonly<Record<string, (tagged: Tagged) => unknown>> = {
  undefined: () => undefined,
  plain: ({ f }) => decodeFields(f, {}),
  number: ({ v }) => numberOf(v),
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

function numberOf(json: Json | undefined): number {
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
