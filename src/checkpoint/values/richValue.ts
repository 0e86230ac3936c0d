import { NotSerializableError, UnreadableValueError } from "../../errors/storedDataErrors.ts";
import { fromBase64Url, toBase64Url } from "../../internal/bytes.ts";
import { maximumDepth } from "../../internal/frozenCopy.ts";
import { classNamed, nameOfClass } from "./classRegistry.ts";
import { bigintOf, unsupportedBigint, unsupportedShape, keyPath } from "./unsupportedShape.ts";

/**
 * Converts rich values (Date, Map, Set, bigint, bytes, URL, undefined, NaN, ±Infinity, -0, registered classes) to JSON
 * with type annotations, in the form of the package superjson. That form rejects some keys, so each key of a plain
 * object has a prefix. All other types are rejected on write and on read: stored data never creates a regular
 * expression, an error or an unregistered class.
 */
interface Stored {
  readonly json: unknown;
  readonly meta?: { readonly values?: unknown; readonly v?: unknown };
}

/** The annotations of the parts of a value, by their paths. */
interface PartTypes {
  readonly [path: string]: Types;
}

/** The type of a value and the annotations of its parts, or only the latter. */
type Types = readonly [type: unknown, parts?: PartTypes] | PartTypes;

interface Encoded {
  readonly json: unknown;
  readonly types?: Types | undefined;
}

const bytesType = ["custom", "bytes"];
const instanceType = ["class", "instance"];

class Instance {
  constructor(
    readonly name: string,
    readonly fields: unknown,
  ) {}
}

export function richToJson(value: unknown, subject: string): Stored {
  const { json, types } = encode(value, { subject, ancestors: new Set() }, "", 0);
  return types === undefined ? { json } : { json, meta: { values: types, v: 1 } };
}

export function richFromJson(encoded: unknown): unknown {
  if (typeof encoded !== "object" || encoded === null || !("json" in encoded))
    unreadable("its rich form has no `json`");
  try {
    const { json, meta } = structuredClone(encoded) as Stored;
    if (meta === undefined) return restore(json);
    const { values, v = 0 } = meta;
    checkAnnotations(values);
    return restore(values === undefined ? json : decode(json, values as Types, Number(v) < 1));
  } catch (error) {
    if (error instanceof UnreadableValueError) throw error;
    throw new UnreadableValueError("its data does not match its type annotations", { cause: error });
  }
}

interface Walk {
  readonly subject: string;
  readonly ancestors: Set<object>;
}

function encode(value: unknown, walk: Walk, path: string, depth: number): Encoded {
  if (depth > maximumDepth) refuse(walk, path, `is nested deeper than ${maximumDepth} levels`);
  if (typeof value === "function" || typeof value === "symbol") refuse(walk, path, `is a ${typeof value}`);
  const excess = typeof value === "bigint" ? unsupportedBigint(value) : undefined;
  if (excess !== undefined) refuse(walk, path, excess);
  if (typeof value !== "object" || value === null) return encodePrimitive(value);
  if (walk.ancestors.has(value)) refuse(walk, path, "refers to something that contains it");
  walk.ancestors.add(value);
  const encoded = encodeObject(value, walk, path, depth + 1);
  walk.ancestors.delete(value);
  return encoded;
}

function encodePrimitive(value: unknown): Encoded {
  if (value === undefined) return { json: null, types: ["undefined"] };
  if (typeof value === "bigint") return { json: String(value), types: ["bigint"] };
  if (typeof value !== "number" || (Number.isFinite(value) && !Object.is(value, -0))) return { json: value };
  return { json: value === 0 ? "-0" : String(value), types: ["number"] };
}

function encodeObject(value: object, walk: Walk, path: string, depth: number): Encoded {
  const defect = unsupportedShape(value);
  if (defect !== undefined) refuse(walk, path, defect);
  if (Array.isArray(value)) return listOf(Array.from(value, (item, at) => encode(item, walk, `${path}[${at}]`, depth)));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return encodeFields(value, walk, path, depth);
  if (prototype === Date.prototype) return encodeDate(value as Date, walk, path);
  if (prototype === Map.prototype) return ofType("map", encodeMap(value as Map<unknown, unknown>, walk, path, depth));
  if (prototype === Set.prototype)
    return ofType(
      "set",
      listOf([...(value as Set<unknown>)].map((item, at) => encode(item, walk, `${path}.values[${at}]`, depth))),
    );
  if (value instanceof Uint8Array) return { json: toBase64Url(value), types: [bytesType] };
  if (prototype === URL.prototype) return { json: (value as URL).href, types: ["URL"] };
  const name = nameOfClass(value);
  if (name === undefined) return refuseInstance(value, walk, path);
  const parts = { name: { json: name }, fields: encodeFields(value, walk, path, depth) };
  return ofType(instanceType, objectOf(Object.entries(parts)));
}

function encodeMap(value: ReadonlyMap<unknown, unknown>, walk: Walk, path: string, depth: number): Encoded {
  return listOf(
    [...value].map(([key, item], at) =>
      listOf([encode(key, walk, `${path}.keys[${at}]`, depth), encode(item, walk, `${path}.values[${at}]`, depth)]),
    ),
  );
}

function refuseInstance(value: object, walk: Walk, path: string): never {
  const name = (value as { readonly constructor?: { readonly name?: unknown } }).constructor?.name;
  refuse(walk, path, `is an instance of ${typeof name === "string" ? name : "an unknown class"}`);
}

function refuse({ subject }: Walk, path: string, reason: string): never {
  throw new NotSerializableError(subject, path, reason);
}

function encodeDate(value: Date, walk: Walk, path: string): Encoded {
  if (Number.isNaN(value.getTime())) refuse(walk, path, "is an invalid date");
  return { json: value.toISOString(), types: ["Date"] };
}

/** Prefixes every key, because the form rejects `__proto__`, `constructor` and `prototype`. */
function encodeFields(value: object, walk: Walk, path: string, depth: number): Encoded {
  return objectOf(
    Object.entries(value).map(([key, item]) => [`:${key}`, encode(item, walk, path + keyPath(key), depth)]),
  );
}

function listOf(items: readonly Encoded[]): Encoded {
  return { json: items.map(({ json }) => json), types: partTypes(Object.entries(items)) };
}

function objectOf(fields: readonly (readonly [string, Encoded])[]): Encoded {
  return { json: Object.fromEntries(fields.map(([key, { json }]) => [key, json])), types: partTypes(fields) };
}

function ofType(type: unknown, { json, types }: Encoded): Encoded {
  return { json, types: types === undefined ? [type] : [type, types as PartTypes] };
}

/** Returns the annotations of all parts. A part without a type is omitted, and its own parts get longer paths. */
function partTypes(parts: readonly (readonly [string, Encoded])[]): PartTypes | undefined {
  const found = parts.flatMap(([key, { types }]): (readonly [string, Types])[] => {
    if (types === undefined) return [];
    const path = key.replaceAll("\\", "\\\\").replaceAll(".", "\\.");
    if (isTyped(types)) return [[path, types]];
    return Object.entries(types).map(([rest, part]) => [`${path}.${rest}`, part]);
  });
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

function isTyped(types: Types): types is readonly [unknown, PartTypes?] {
  return Array.isArray(types);
}

function decode(json: unknown, types: Types, isLegacy: boolean): unknown {
  const [type, parts] = isTyped(types) ? types : [undefined, types];
  for (const [path, part] of Object.entries(parts ?? {})) {
    const keys = keysOf(path, isLegacy);
    const last = keys.pop() ?? "";
    const parent = keys.reduce<unknown>(partOf, json);
    const value = decode(partOf(parent, last), part, isLegacy);
    (parent as Record<string, unknown>)[last] = value;
  }
  return type === undefined ? json : typed(json, type);
}

function partOf(parent: unknown, key: string): unknown {
  if (typeof parent !== "object" || parent === null || !Object.hasOwn(parent, key))
    unreadable(`its type annotations name the missing path "${key}"`);
  return (parent as Record<string, unknown>)[key];
}

/** Returns the keys of a path. In the oldest form, only dots are escaped. */
function keysOf(path: string, isLegacy: boolean): string[] {
  const keys = [""];
  for (const [token] of path.matchAll(isLegacy ? /\\\.|./gsu : /\\[\\.]|./gsu)) {
    if (token === "\\" && !isLegacy) unreadable(`its type annotations name the malformed path "${path}"`);
    if (token === ".") keys.push("");
    else keys.push(`${keys.pop()}${/^\\./s.test(token) ? token.slice(1) : token}`);
  }
  return keys;
}

function typed(json: unknown, type: unknown): unknown {
  if (Array.isArray(type)) return type[0] === "class" ? instanceOf(json) : bytesOf(json);
  switch (type) {
    case "undefined":
      return undefined;
    case "bigint":
      return bigintOf(json as string);
    case "Date":
      return new Date(json as string);
    case "URL":
      return new URL(json as string);
    case "map":
      return new Map(json as [unknown, unknown][]);
    case "set":
      return new Set(json as unknown[]);
    default:
      return Number(json);
  }
}

function bytesOf(json: unknown): Uint8Array {
  return fromBase64Url(json as string) ?? unreadable("bytes are not base64url");
}

function instanceOf(json: unknown): Instance {
  const { name, fields } = json as Instance;
  return new Instance(name, fields);
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
 * Validates type annotations, because stored bytes are untrusted. It rejects annotations that this library never
 * writes, such as `regexp`. It also rejects paths outside of the value, such as `__proto__`. A tree is `[type,
 * children?]` or `children`, with children by path.
 */
function checkAnnotations(tree: unknown): void {
  if (tree === undefined) return;
  if (!Array.isArray(tree)) return checkChildren(tree);
  const [type, children] = tree as readonly unknown[];
  if (!isKnownType(type)) unreadable(`it names the unknown type ${JSON.stringify(type)}`);
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
