import { NotSerializableError, UnreadableValueError } from "../../errors/storedDataErrors.ts";
import { define, maximumDepth } from "../../internal/frozenCopy.ts";
import { unsupportedShape, keyPath } from "./unsupportedShape.ts";
import { richFromJson, richToJson } from "./richValue.ts";

/** A stored value. Plain JSON stays unchanged. Any other value is an object with one key that starts with `$`. */
export type StoredValue = unknown;

/** Refers to a model response by node execution, request number and enclosing call. `lane` names a joined branch. */
export type AnswerReference = readonly [
  base: number,
  ordinal: number,
  request: number,
  within?: string | null,
  lane?: number,
];

/** Refers to a message by its number in the history, or by its number and the lane of a joined branch. */
export type MessageReference = number | readonly [number: number, lane: number];

/**
 * A tool result in a stored message. Without `output`, the outcome record of the call contains the output. If the
 * output is not the last field, `part` contains `null` in its place.
 */
export interface StoredResult {
  readonly part: Readonly<Record<string, unknown>>;
  readonly output?: StoredValue;
}

/** The keys that mark a stored value. An object with one of these keys must have no other keys. */
const envelopeKeys: ReadonlySet<string> = new Set(["$plain", "$rich", "$blob", "$message", "$answer", "$outcomes"]);

/**
 * Encodes a value as a detached copy. `subject` names the value in errors.
 * @throws NotSerializableError with the path of a value that cannot be stored
 */
export function encodeValue(value: unknown, subject: string): StoredValue {
  const walk: Walk = { subject, rich: false, ancestors: new Set(), objects: 0, path: [] };
  const copy = copyPlain(value, walk);
  if (walk.rich) return { $rich: richToJson(value, subject) };
  return envelopeKeyOf(copy) === undefined ? copy : { $plain: copy };
}

export function decodeValue(slot: StoredValue): unknown {
  const key = envelopeKeyOf(slot);
  if (key === undefined) return slot;
  const content = (slot as Record<string, unknown>)[key];
  if (key === "$plain") return content;
  if (key === "$rich") return richFromJson(content);
  throw new UnreadableValueError(`a reference (${key}) was found where a value was expected`);
}

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
  objects: number;
  readonly path: (string | number)[];
}

/** Copies plain JSON. Sets `rich` if the value contains anything else, which `richToJson` then encodes. */
function copyPlain(value: unknown, walk: Walk): unknown {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value !== "object") {
    walk.rich ||= !Number.isFinite(value) || Object.is(value, -0);
    return value;
  }
  if (walk.path.length > maximumDepth) refuse(walk, `is nested deeper than ${maximumDepth} levels`);
  if (walk.ancestors.has(value)) refuse(walk, "refers to something that contains it");
  const defect = unsupportedShape(value, walk);
  if (defect !== undefined) refuse(walk, defect);
  walk.ancestors.add(value);
  const copy = Array.isArray(value) ? value.map((item, at) => copyAt(at, item, walk)) : copyObject(value, walk);
  walk.ancestors.delete(value);
  return copy;
}

function copyObject(value: object, walk: Walk): unknown {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    walk.rich = true;
    return value;
  }
  const copy = {};
  for (const [key, item] of Object.entries(value)) define(copy, key, copyAt(key, item, walk));
  return copy;
}

function copyAt(step: string | number, value: unknown, walk: Walk): unknown {
  walk.path.push(step);
  const copy = copyPlain(value, walk);
  walk.path.pop();
  return copy;
}

function refuse({ subject, path }: Walk, reason: string): never {
  const place = path.map((step) => (typeof step === "number" ? `[${step}]` : keyPath(step))).join("");
  throw new NotSerializableError(subject, place, reason);
}

/** Returns the results in a stored tool message. Empty for any other value. */
export function resultsIn(slot: StoredValue): readonly StoredResult[] {
  return envelopeKeyOf(slot) === "$outcomes" ? (slot as { readonly $outcomes: readonly StoredResult[] }).$outcomes : [];
}

export function callOfResult({ part }: StoredResult): string {
  return String(part["toolCallId"]);
}

/** Returns a stored tool message with the outputs that it refers to. Keeps a reference if its outcome is missing. */
export function withOutputs(
  slot: StoredValue,
  outputOf: (call: string) => { readonly output?: StoredValue } | undefined,
): StoredValue {
  const results = resultsIn(slot);
  if (results.every((result) => "output" in result)) return slot;
  return {
    $outcomes: results.map((result): StoredResult => {
      const outcome = "output" in result ? undefined : outputOf(callOfResult(result));
      return outcome ? { ...result, output: outcome.output } : result;
    }),
  };
}

export function refersToLane(slot: StoredValue): boolean {
  const key = envelopeKeyOf(slot);
  if (key === "$answer") return (slot as { readonly $answer: AnswerReference }).$answer[4] !== undefined;
  return key === "$message" && Array.isArray((slot as { readonly $message: MessageReference }).$message);
}
