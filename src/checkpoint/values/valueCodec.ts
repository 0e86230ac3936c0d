import { NotSerializableError } from "../../errors/storage/NotSerializableError.ts";
import { maximumDepth } from "../../internal/maximumDepth.ts";
import { UnreadableValueError } from "../../errors/storage/UnreadableValueError.ts";
import { unsupportedShape } from "./unsupportedShape.ts";
import { keyPath } from "./valuePath.ts";
import { richFromJson, richToJson } from "./richValue.ts";

/** A value in its stored form: plain JSON. JSON values are stored unchanged; any other value is an envelope with one `$` key. */
export type StoredValue = unknown;

/**
 * The content of `$answer`: the visit and the ordinal of the answer, and the tool call in which the model was asked. `lane`
 * names the lane of a joined branch that the answer is on. Absent: it is on the own.
 */
export type AnswerReference = readonly [
  base: number,
  ordinal: number,
  request: number,
  within?: string | null,
  lane?: number,
];

/** The content of `$message`: a message of the own history, or of that of a joined branch, by its lane. */
export type MessageReference = number | readonly [number: number, lane: number];

/**
 * An item of `$outcomes`: one result of a tool message. Absent `output`: it is in the outcome of the call. In `part` the
 * output stands as `null` where fields follow it.
 */
export interface StoredResult {
  readonly part: Readonly<Record<string, unknown>>;
  readonly output?: StoredValue;
}

/** The keys of envelopes: they have a meaning only when an object has no other key. */
const envelopeKeys: ReadonlySet<string> = new Set(["$plain", "$rich", "$blob", "$message", "$answer", "$outcomes"]);

/**
 * The stored form of a value. It exists for every JSON value and for the rich values of `richValue`; any other value is
 * refused, with its path.
 *
 * @param subject what the value is, for the error.
 * @returns a detached copy.
 * @throws NotSerializableError
 */
export function encodeValue(value: unknown, subject: string): StoredValue {
  const walk: Walk = { subject, rich: false, ancestors: new Set(), path: [] };
  const copy = copyPlain(value, walk);
  if (walk.rich) return { $rich: richToJson(value, subject) };
  return envelopeKeyOf(copy) === undefined ? copy : { $plain: copy };
}

/** The value of a stored form. References and blobs are resolved by the caller, who knows what they refer to. */
export function decodeValue(slot: StoredValue): unknown {
  const key = envelopeKeyOf(slot);
  if (key === undefined) return slot;
  const content = (slot as Record<string, unknown>)[key];
  if (key === "$plain") return content;
  if (key === "$rich") return richFromJson(content);
  throw new UnreadableValueError(`a reference (${key}) was found where a value was expected`);
}

/** The key of an envelope; `undefined` for a JSON value that is stored unchanged. */
export function envelopeKeyOf(slot: StoredValue): string | undefined {
  if (typeof slot !== "object" || slot === null || Array.isArray(slot)) return undefined;
  let only: string | undefined;
  for (const key of Object.keys(slot)) {
    if (only !== undefined) return undefined;
    only = key;
  }
  return only !== undefined && envelopeKeys.has(only) ? only : undefined;
}

interface Walk {
  readonly subject: string;
  rich: boolean;
  readonly ancestors: Set<object>;
  /** Keys and places from the value to where the walk is. */
  readonly path: (string | number)[];
}

/** Copies plain JSON. Anything else marks the value as rich; `richToJson` then accepts or refuses it. */
function copyPlain(value: unknown, walk: Walk): unknown {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") {
    if (!Number.isFinite(value) || Object.is(value, -0)) walk.rich = true;
    return value;
  }
  if (typeof value !== "object") {
    walk.rich = true;
    return value;
  }
  if (walk.path.length > maximumDepth) refuse(walk, `is nested deeper than ${maximumDepth} levels`);
  if (walk.ancestors.has(value)) refuse(walk, "refers to something that contains it");
  walk.ancestors.add(value);
  const copy = Array.isArray(value) ? copyArray(value, walk) : copyObject(value, walk);
  walk.ancestors.delete(value);
  return copy;
}

function copyObject(value: object, walk: Walk): unknown {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    walk.rich = true;
    return value;
  }
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    walk.path.push(key);
    const item = copyPlain((value as Record<string, unknown>)[key], walk);
    walk.path.pop();
    if (key === "__proto__")
      Object.defineProperty(copy, key, { value: item, enumerable: true, configurable: true, writable: true });
    else copy[key] = item;
  }
  const defect = unsupportedShape(value);
  if (defect !== undefined) refuse(walk, defect);
  return copy;
}

function copyArray(value: readonly unknown[], walk: Walk): unknown[] {
  const defect = unsupportedShape(value);
  if (defect !== undefined) refuse(walk, defect);
  const copy: unknown[] = [];
  for (let at = 0; at < value.length; at++) {
    walk.path.push(at);
    if (!(at in value)) refuse(walk, "is a hole in an array");
    copy.push(copyPlain(value[at], walk));
    walk.path.pop();
  }
  return copy;
}

function refuse({ subject, path }: Walk, reason: string): never {
  const place = path.map((step) => (typeof step === "number" ? `[${step}]` : keyPath(step))).join("");
  throw new NotSerializableError(subject, place, reason);
}
