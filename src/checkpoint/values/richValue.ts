import { SuperJSON, type SuperJSONResult } from "superjson";
import { NotSerializableError, UnreadableValueError } from "../../errors/storedDataErrors.ts";
import { fromBase64Url, toBase64Url } from "../../internal/bytes.ts";
import { maximumDepth } from "../../internal/frozenCopy.ts";
import { classNamed, nameOfClass } from "./classRegistry.ts";
import { bigintOf, keyPath, unsupportedBigint, unsupportedShape } from "./unsupportedShape.ts";

/**
 * Converts values such as dates and maps to JSON. Escapes the keys of plain objects, because superjson rejects some.
 * Rejects other types on write and on read, so stored data never creates a regular expression or an unregistered class.
 */
const superjson = new SuperJSON();

class Instance {
  readonly name: string;
  readonly fields: unknown;
  constructor(name: string, fields: unknown) {
    this.name = name;
    this.fields = fields;
  }
}
superjson.registerClass(Instance, { identifier: "instance" });
superjson.registerCustom<Uint8Array, string>(
  {
    isApplicable: (value): value is Uint8Array => value instanceof Uint8Array,
    serialize: toBase64Url,
    deserialize: (text) => fromBase64Url(text) ?? unreadable("bytes are not base64url"),
  },
  "bytes",
);

/** Limits the length of a `bigint` that superjson reads. Only for reading: no value is stored as `digits`. */
superjson.registerCustom<bigint, string>(
  { isApplicable: (_value): _value is bigint => false, serialize: String, deserialize: bigintOf },
  "digits",
);

interface Stored {
  readonly json: unknown;
  readonly meta?: { readonly values?: unknown; readonly v?: unknown };
}

export function richToJson(value: unknown, subject: string): Stored {
  const { json, meta } = superjson.serialize(escape(value, { subject, ancestors: new Set(), objects: 0 }, "", 0));
  return meta === undefined ? { json } : { json, meta };
}

export function richFromJson(encoded: unknown): unknown {
  if (typeof encoded !== "object" || encoded === null || !("json" in encoded))
    unreadable("its rich form has no `json`");
  try {
    const { json, meta } = structuredClone(encoded) as Stored;
    if (meta === undefined) return restore(json);
    checkAnnotations(meta.values);
    return restore(superjson.deserialize({ json, meta: { values: meta.values, v: meta.v } } as SuperJSONResult));
  } catch (error) {
    if (error instanceof UnreadableValueError) throw error;
    throw new UnreadableValueError("its data does not match its type annotations", { cause: error });
  }
}

interface Walk {
  readonly subject: string;
  readonly ancestors: Set<object>;
  objects: number;
}

function escape(value: unknown, walk: Walk, path: string, depth: number): unknown {
  if (depth > maximumDepth) refuse(walk, path, `is nested deeper than ${maximumDepth} levels`);
  if (typeof value === "function" || typeof value === "symbol") refuse(walk, path, `is a ${typeof value}`);
  const excess = typeof value === "bigint" ? unsupportedBigint(value) : undefined;
  if (excess !== undefined) refuse(walk, path, excess);
  if (typeof value !== "object" || value === null) return value;
  if (walk.ancestors.has(value)) refuse(walk, path, "refers to something that contains it");
  walk.ancestors.add(value);
  const copy = escapeObject(value, walk, path, depth + 1);
  walk.ancestors.delete(value);
  return copy;
}

function escapeObject(value: object, walk: Walk, path: string, depth: number): unknown {
  const defect = unsupportedShape(value, walk);
  if (defect !== undefined) refuse(walk, path, defect);
  if (Array.isArray(value)) return Array.from(value, (item, at) => escape(item, walk, `${path}[${at}]`, depth));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return escapeFields(value, walk, path, depth);
  if (prototype === Date.prototype) return new Date(value as Date);
  if (prototype === Map.prototype) return escapeMap(value as Map<unknown, unknown>, walk, path, depth);
  if (prototype === Set.prototype)
    return new Set([...(value as Set<unknown>)].map((item, at) => escape(item, walk, `${path}.values[${at}]`, depth)));
  if (value instanceof Uint8Array) return new Uint8Array(value);
  if (prototype === URL.prototype) return new URL((value as URL).href);
  const name = nameOfClass(value);
  if (name === undefined) return refuseInstance(value, walk, path);
  return new Instance(name, escapeFields(value, walk, path, depth));
}

function escapeMap(value: ReadonlyMap<unknown, unknown>, walk: Walk, path: string, depth: number): unknown {
  return new Map(
    [...value].map(([key, item], at) => [
      escape(key, walk, `${path}.keys[${at}]`, depth),
      escape(item, walk, `${path}.values[${at}]`, depth),
    ]),
  );
}

function refuseInstance(value: object, walk: Walk, path: string): never {
  const name = (value as { readonly constructor?: { readonly name?: unknown } }).constructor?.name;
  refuse(walk, path, `is an instance of ${typeof name === "string" ? name : "an unknown class"}`);
}

function refuse({ subject }: Walk, path: string, reason: string): never {
  throw new NotSerializableError(subject, path, reason);
}

/** Prefixes every key, because superjson rejects `__proto__`, `constructor` and `prototype`. */
function escapeFields(value: object, walk: Walk, path: string, depth: number): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) copy[`:${key}`] = escape(item, walk, path + keyPath(key), depth);
  return copy;
}

function restore(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(restore);
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [restore(key), restore(item)]));
  if (value instanceof Set) return new Set([...value].map(restore));
  if (value instanceof Instance) return restoreInstance(value);
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return restoreFields(value, {});
}

function restoreInstance({ name, fields }: Instance): object {
  const storable = classNamed(name);
  if (storable === undefined)
    unreadable(`no class is registered as "${name}"; call registerClass("${name}", …) before reading`);
  return restoreFields(fields as object, Object.create(storable.prototype as object) as object);
}

function restoreFields(fields: object, target: object): object {
  for (const [key, item] of Object.entries(fields)) {
    Object.defineProperty(target, key.slice(1), {
      value: restore(item),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return target;
}

const knownTypes: ReadonlySet<string> = new Set(["undefined", "bigint", "Date", "URL", "number", "map", "set"]);

/**
 * Validates the type annotations of superjson, because stored bytes are untrusted. Rejects unknown types, such as
 * `regexp`, and paths outside of the value, such as `__proto__`. A tree is `[type, children?]` or `children`.
 */
function checkAnnotations(tree: unknown): void {
  if (tree === undefined) return;
  if (!Array.isArray(tree)) return checkChildren(tree);
  const [type, children] = tree as readonly unknown[];
  if (!isKnownType(type)) unreadable(`it names the unknown type ${JSON.stringify(type)}`);
  if (type === "bigint") tree[0] = ["custom", "digits"];
  if (children !== undefined) checkChildren(children);
}

function checkChildren(children: unknown): void {
  if (typeof children !== "object" || children === null) unreadable("its type annotations are malformed");
  for (const [path, child] of Object.entries(children)) {
    const foreign = path.split(/(?<!\\)(?:\\\\)*\./).find((segment) => !/^(:|\d+$|name$|fields$)/.test(segment));
    if (foreign !== undefined) unreadable(`its type annotations name the unknown path "${path}"`);
    checkAnnotations(child);
  }
}

function isKnownType(type: unknown): boolean {
  if (typeof type === "string") return knownTypes.has(type);
  if (!Array.isArray(type) || type.length !== 2) return false;
  return (type[0] === "custom" && type[1] === "bytes") || (type[0] === "class" && type[1] === "instance");
}

function unreadable(reason: string): never {
  throw new UnreadableValueError(reason);
}
