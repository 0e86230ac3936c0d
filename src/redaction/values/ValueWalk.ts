import { isPair, toolOf, type ValuePlace, isAt, type RedactedPath } from "../../internal/options/redactedPath.ts";
import { callShape, type CallShape } from "./callShape.ts";
import type { KnownSecrets } from "./KnownSecrets.ts";
import { isLibraryField, isName, type LibraryFields } from "./libraryFields.ts";
import { parsedJson } from "../../internal/parsedJson.ts";

export interface WalkOptions {
  readonly rules: RedactionRules;
  readonly secrets: KnownSecrets;
  /** Replaces a value at a redacted path. @param shown - a text to show in its place, or an empty text. */
  readonly replace: (value: unknown, shown: string) => unknown;
  /** Replaces a value that contains a secret. @param shown - the part of the text to show, or an empty text. */
  readonly replaceText: (value: unknown, shown: string) => unknown;
  /** Returns whether to replace a text that contains no known secret. */
  readonly hides?: ((text: string) => boolean) | undefined;
  /** Returns whether to keep a text unchanged, such as the name of a blob. */
  readonly keeps?: ((text: string) => boolean) | undefined;
  /** Called for a value in a blob, with its places. `places` is `undefined` if the whole value is redacted. */
  readonly inBlob?: ((reference: string, places: Places | undefined) => void) | undefined;
}

/** The maximum depth. Deeper values are redacted as a whole. */
const deepest = 1_000;

/** The paths at which rules find a value: in its record, and in the tool calls that contain it. */
export type Places = readonly ValuePlace[];

export const root: Places = [{ whole: [], named: [] }];

/** Copies values without their redacted parts. Values without such parts are not copied. */
export class ValueWalk {
  protected readonly options: WalkOptions;
  readonly #ancestors = new Set<object>();
  /** Whether an enclosing object is redacted as a whole. */
  #isHidden = false;

  constructor(options: WalkOptions) {
    this.options = options;
  }

  value(value: unknown, places: Places): unknown {
    if (this.isRedactedAt(places)) return this.whole(value);
    if (typeof value === "string") return this.text(value, places);
    if (typeof value === "number" || typeof value === "bigint")
      return this.options.secrets.isIn(String(value)) ? this.options.replaceText(value, "") : value;
    if (typeof value !== "object" || value === null) return value;
    return this.#within(value, () => this.#nested(value, places));
  }

  /** Returns an object of the library without its redacted parts. Keys, ids and kinds stay if its path is allowed. */
  structure(value: unknown, places: Places, fields: LibraryFields): unknown {
    if (typeof value === "number" || typeof value === "boolean") return value;
    if (!Array.isArray(value) && !isPlain(value)) return this.value(value, places);
    const outer = this.#isHidden;
    this.#isHidden ||= this.isRedactedAt(places);
    const copy = this.#within(value, () =>
      Array.isArray(value)
        ? sameOr(
            value,
            value.map((item, index) => this.structure(item, placesOfItem(places, index), fields)),
          )
        : this.#fields(value, places, fields),
    );
    this.#isHidden = outer;
    return copy;
  }

  protected isRedactedAt(places: Places): boolean {
    return this.#isHidden || places.some((place) => place.whole.length > 0 && isRedacted(this.options.rules, place));
  }

  protected whole(value: unknown): unknown {
    return value === undefined ? undefined : this.options.replace(value, "");
  }

  /** @param places - the places of the text, because it can be JSON with redacted parts. Defaults to none. */
  protected text(text: string, places: Places = []): unknown {
    const { rules, secrets, replaceText } = this.options;
    if (!this.#isSecret(text)) return this.#isRedactedJson(text, places) ? replaceText(text, "") : text;
    const shown = shownText(rules, text);
    return replaceText(text, shown === text || secrets.isIn(shown) ? "" : shown);
  }

  protected object(value: object, places: Places): unknown {
    const keys = Object.keys(value);
    if (keys.some((key) => this.#isSecret(key))) return this.options.replaceText(value, "");
    const call = callShape(value, (callId) => this.toolOfCall(callId));
    const isUnknown = (key: string) => call !== undefined && call.tool === undefined && this.#hasRulesOf(call, key);
    const prototype = Object.getPrototypeOf(value) as object | null;
    let isChanged = false;
    const entries = keys.map((key) => {
      const item: unknown = Reflect.get(value, key);
      const copy = isUnknown(key) ? this.whole(item) : this.value(item, placesWithin(value, key, { places, call }));
      isChanged ||= copy !== item;
      return [key, copy] as const;
    });
    if (!isChanged) return value;
    const copy = Object.fromEntries(entries);
    return prototype === Object.prototype || prototype === null
      ? copy
      : (Object.defineProperties(Object.create(prototype) as object, Object.getOwnPropertyDescriptors(copy)) as object);
  }

  protected toolOfCall(_callId: unknown): string | undefined {
    return undefined;
  }

  /** Returns whether a rule can match a call of an unknown tool. */
  #hasRulesOf({ sides }: CallShape, key: string): boolean {
    const side = sides.get(key);
    return side !== undefined && hasRulesOfTools(this.options.rules, side);
  }

  /** Whether a text is JSON with redacted parts. Text that cannot be parsed counts if a rule may match within it. */
  #isRedactedJson(text: string, places: Places): boolean {
    const { rules, keeps } = this.options;
    if (rules.paths.length === 0 || text === "" || keeps?.(text)) return false;
    const parsed = /^\s*[[{]/.test(text) ? parsedJson(text) : undefined;
    if (parsed === undefined) return places.some((place) => hasRulesBelow(rules, place));
    return this.value(parsed, places) !== parsed;
  }

  #nested(value: object, places: Places): unknown {
    if (Array.isArray(value)) return this.#list(value, places);
    if (value instanceof Map) return new Map(this.#list([...value], places) as readonly [unknown, unknown][]);
    if (value instanceof Set) return new Set(this.#list([...value], places));
    if (value instanceof Error) return this.#error(value, places);
    if (value instanceof URL) return this.#isSecret(value.href) ? this.options.replaceText(value, "") : value;
    if (ArrayBuffer.isView(value) || value instanceof Date) return value;
    return this.object(value, places);
  }

  #isSecret(text: string): boolean {
    const { rules, secrets, hides, keeps } = this.options;
    if (keeps?.(text)) return false;
    return hides?.(text) === true || secrets.isIn(text) || shownText(rules, text) !== text;
  }

  #list(list: readonly unknown[], places: Places): readonly unknown[] {
    const copies = list.map((item, index) => {
      const at = placesOfItem(places, index);
      return isPair(item) && !this.isRedactedAt(at) ? this.#pair(item, at) : this.value(item, at);
    });
    return sameOr(list, copies);
  }

  #fields(value: object, places: Places, fields: LibraryFields): unknown {
    const entries = Object.entries(value);
    if (entries.some(([key]) => !isLibraryField(fields, key) && this.#isSecret(key)))
      return this.options.replaceText(value, "");
    const tool = toolOf(value);
    const copies = entries.map(([key, item]: readonly [string, unknown]) => {
      if (isName(fields, key, item)) return [key, item] as const;
      const [at, structure] = [placesOfField(places, key, tool), fields.structures.get(key)];
      if (fields.maps?.has(key)) return [key, this.namedValues(item, at)] as const;
      return [key, structure ? this.structure(item, at, structure) : this.value(item, at)] as const;
    });
    return copies.every(([, copy], at) => copy === entries[at]?.[1]) ? value : Object.fromEntries(copies);
  }

  /** Redacts an object whose keys are names of users. */
  protected namedValues(value: unknown, places: Places): unknown {
    if (!isPlain(value)) return this.value(value, places);
    const entries = Object.entries(value).map(([key, item]: readonly [string, unknown]) => [
      key,
      this.value(item, placesOfField(places, key)),
    ]);
    return Object.fromEntries(entries);
  }

  /** Redacts a value as a whole if it contains itself or is nested too deeply. */
  #within(value: object, walk: () => unknown): unknown {
    if (this.#ancestors.has(value) || this.#ancestors.size > deepest) return this.options.replaceText(value, "");
    this.#ancestors.add(value);
    const copy = walk();
    this.#ancestors.delete(value);
    return copy;
  }

  #pair(pair: readonly [key: string, value: unknown], places: Places): readonly unknown[] {
    const [key, value] = pair;
    const at = places.map(({ whole, named }) => ({ whole: [...whole, "1"], named: [...named, key] }));
    const copy = [this.value(key, placesOfItem(places, 0)), this.value(value, at)];
    return copy[0] === key && copy[1] === value ? pair : copy;
  }

  #error(error: Error, places: Places): Error {
    const fields = Object.getOwnPropertyNames(error).map((key) => {
      const item: unknown = Reflect.get(error, key);
      return { key, item, value: this.value(item, placesOfField(places, key)) };
    });
    if (fields.every(({ item, value }) => item === value)) return error;
    const copy = Object.create(Object.getPrototypeOf(error) as object) as Error;
    for (const { key, value } of fields)
      Object.defineProperty(copy, key, { value, enumerable: false, configurable: true, writable: true });
    return copy;
  }
}

/** The fields of a status that contain the input or the output of a run. */
const ofStatus: ReadonlyMap<string, readonly string[]> = new Map([
  ["inputRequest", ["input"]],
  ["finalOutput", ["output"]],
]);

/** Returns the paths of a field, such as `<tool>.input` in a tool call, and `output` in the status of a run. */
export function placesOfField(places: Places, key: string, tool?: string): Places {
  const names = [key, ...(ofStatus.get(key) ?? [])];
  const within = places.flatMap(({ whole, named }) =>
    names.map((name) => ({ whole: [...whole, name], named: [...named, name] })),
  );
  return tool !== undefined && (key === "input" || key === "output") ? [...within, ...placesAt(tool, key)] : within;
}

function placesOfItem(places: Places, index: number): Places {
  return places.map(({ whole, named }) => ({ whole: [...whole, String(index)], named }));
}

function sameOr(list: readonly unknown[], copies: readonly unknown[]): readonly unknown[] {
  return copies.every((copy, at) => copy === list[at]) ? list : copies;
}

function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Returns the paths of a field. The text of a message part also has the path of the part. */
function placesWithin(
  value: object,
  key: string,
  { places, call }: { readonly places: Places; readonly call: CallShape | undefined },
): Places {
  const within = placesOfField(places, key);
  const side = call?.sides.get(key);
  if (call?.tool !== undefined && side) return [...within, ...placesAt(call.tool, side)];
  return "type" in value && (key === "text" || key === "value") ? [...within, ...places] : within;
}

export function placesAt(...keys: readonly string[]): Places {
  return [{ whole: keys, named: keys }];
}

export interface RedactionRules {
  readonly paths: readonly RedactedPath[];
  /** Returns a text without its secrets. If omitted, texts are redacted only by their paths. */
  readonly text?: ((text: string) => string) | undefined;
}

export const redactedText = "[redacted]";

function isRedacted({ paths }: RedactionRules, place: ValuePlace): boolean {
  return paths.some((path) => isAt(place, path));
}

function hasRulesOfTools({ paths }: RedactionRules, side: "input" | "output"): boolean {
  return paths.some(([, field]) => field === side || field === "*");
}

/** Returns whether a rule redacts a value at a path or below it. */
function hasRulesBelow({ paths }: RedactionRules, place: ValuePlace): boolean {
  return paths.some((path) => startsWith(path, place.named) || startsWith(path, place.whole));
}

function startsWith(path: RedactedPath, place: readonly string[]): boolean {
  if (place.length < 2 || path.length <= place.length) return false;
  return place.every((key, at) => path[at] === key || path[at] === "*");
}

/** Returns the shown form of a text, which is empty if the function throws or returns no text. */
export function shownText({ text: redact }: RedactionRules, text: string): string {
  if (!redact) return text;
  try {
    const shown: unknown = redact(text);
    return typeof shown === "string" ? shown : redactedText;
  } catch {
    return redactedText;
  }
}
