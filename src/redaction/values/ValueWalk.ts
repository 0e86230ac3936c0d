import { isPair, toolOf, type ValuePlace } from "../../internal/redactedPath.ts";
import type { KnownSecrets } from "./KnownSecrets.ts";
import { isRedacted, type RedactionRules, shownText } from "./RedactionRules.ts";

export interface WalkOptions {
  readonly rules: RedactionRules;
  readonly secrets: KnownSecrets;
  /** Replaces a value at a redacted path. */
  readonly replace: (value: unknown) => unknown;
  /**
   * Replaces a value that contains a secret.
   *
   * @param shown - the shown part of a text. Empty if nothing is shown.
   */
  readonly replaceText: (value: unknown, shown: string) => unknown;
  /** Whether a text without a known secret is replaced, too. */
  readonly hides?: ((text: string) => boolean) | undefined;
  /** Whether a text is kept as it is, such as the name of a blob. */
  readonly keeps?: ((text: string) => boolean) | undefined;
}

/** Values that are nested deeper are redacted as a whole. */
const deepest = 1_000;

export const root: ValuePlace = { whole: [], named: [] };

/** Copies values without their redacted parts. Values without redacted parts are returned as they are. */
export class ValueWalk {
  protected readonly options: WalkOptions;
  readonly #ancestors = new Set<object>();

  constructor(options: WalkOptions) {
    this.options = options;
  }

  /** Returns the value without its redacted parts. */
  value(value: unknown, place: ValuePlace): unknown {
    if (this.isRedactedAt(place)) return this.whole(value);
    if (typeof value === "string") return this.text(value);
    if (typeof value === "number" || typeof value === "bigint")
      return this.options.secrets.isIn(String(value)) ? this.options.replaceText(value, "") : value;
    if (typeof value !== "object" || value === null) return value;
    if (this.#ancestors.has(value) || this.#ancestors.size > deepest) return this.options.replaceText(value, "");
    this.#ancestors.add(value);
    const copy = this.#nested(value, place);
    this.#ancestors.delete(value);
    return copy;
  }

  protected isRedactedAt(place: ValuePlace): boolean {
    return place.whole.length > 0 && isRedacted(this.options.rules, place);
  }

  protected whole(value: unknown): unknown {
    return value === undefined ? undefined : this.options.replace(value);
  }

  protected text(text: string): unknown {
    const { rules, secrets, replaceText } = this.options;
    if (!this.#isSecret(text)) return text;
    const shown = shownText(rules, text);
    return replaceText(text, shown === text || secrets.isIn(shown) ? "" : shown);
  }

  protected object(value: object, place: ValuePlace): unknown {
    const keys = Object.keys(value);
    if (keys.some((key) => this.#isSecret(key))) return this.options.replaceText(value, "");
    const tool = toolOf(value);
    const prototype = Object.getPrototypeOf(value) as object | null;
    let isChanged = false;
    const entries = keys.map((key) => {
      const item: unknown = Reflect.get(value, key);
      const copy = this.value(item, placeOfField(place, key, tool));
      isChanged ||= copy !== item;
      return [key, copy] as const;
    });
    if (!isChanged) return value;
    const copy = Object.fromEntries(entries);
    return prototype === Object.prototype || prototype === null
      ? copy
      : (Object.defineProperties(Object.create(prototype) as object, Object.getOwnPropertyDescriptors(copy)) as object);
  }

  #nested(value: object, place: ValuePlace): unknown {
    if (Array.isArray(value)) return this.#list(value, place);
    if (value instanceof Map) return new Map(this.#list([...value], place) as readonly [unknown, unknown][]);
    if (value instanceof Set) return new Set(this.#list([...value], place));
    if (value instanceof Error) return this.#error(value, place);
    if (value instanceof URL) return this.#isSecret(value.href) ? this.options.replaceText(value, "") : value;
    if (ArrayBuffer.isView(value) || value instanceof Date) return value;
    return this.object(value, place);
  }

  #isSecret(text: string): boolean {
    const { rules, secrets, hides, keeps } = this.options;
    if (keeps?.(text)) return false;
    return hides?.(text) === true || secrets.isIn(text) || shownText(rules, text) !== text;
  }

  #list(list: readonly unknown[], place: ValuePlace): readonly unknown[] {
    const copies = list.map((item, index) => {
      const at = { whole: [...place.whole, String(index)], named: place.named };
      return isPair(item) && !this.isRedactedAt(at) ? this.#pair(item, at) : this.value(item, at);
    });
    return copies.every((copy, at) => copy === list[at]) ? list : copies;
  }

  #pair(pair: readonly [key: string, value: unknown], { whole, named }: ValuePlace): readonly unknown[] {
    const [key, value] = pair;
    const copy = [this.text(key), this.value(value, { whole: [...whole, "1"], named: [...named, key] })];
    return copy[0] === key && copy[1] === value ? pair : copy;
  }

  #error(error: Error, place: ValuePlace): Error {
    const fields = Object.getOwnPropertyNames(error).map((key) => {
      const item: unknown = Reflect.get(error, key);
      return { key, item, value: this.value(item, placeOfField(place, key)) };
    });
    if (fields.every(({ item, value }) => item === value)) return error;
    const copy = Object.create(Object.getPrototypeOf(error) as object) as Error;
    for (const { key, value } of fields)
      Object.defineProperty(copy, key, { value, enumerable: false, configurable: true, writable: true });
    return copy;
  }
}

/**
 * Returns the place of a field. The values of a tool call are at `<tool>.input` and `<tool>.output`, and the output of a
 * run in its status at `output`.
 */
export function placeOfField({ whole, named }: ValuePlace, key: string, tool?: string): ValuePlace {
  if (tool !== undefined && (key === "input" || key === "output")) return placeAt(tool, key);
  const name = key === "finalOutput" ? "output" : key;
  return { whole: [...whole, name], named: [...named, name] };
}

export function placeAt(...keys: readonly string[]): ValuePlace {
  return { whole: keys, named: keys };
}
