import type { HiddenValues } from "./HiddenValues.ts";
import { pathText, type RedactedPath } from "./redactedPath.ts";
import { isSecretName, secretPatterns } from "./secretPatterns.ts";

export const hiddenText = "[hidden]";

/** The maximum depth. Deeper values are replaced by a notice, because code that walks them would overflow the stack. */
const deepest = 200;

/** The minimum length of object keys that are searched for secrets, because short keys are rarely secrets. */
const shortestSecret = 16;

/** The position of a value: all keys, and the keys without list indexes. */
interface Place {
  readonly whole: readonly string[];
  readonly named: readonly string[];
}

/** Hides secrets and values at given paths, and counts them. */
export class Redaction {
  readonly #paths: readonly RedactedPath[];
  readonly #hidesSecrets: boolean;
  readonly #redacted: number[];
  #secrets = 0;

  constructor(paths: readonly RedactedPath[], hidesSecrets: boolean) {
    this.#paths = paths;
    this.#redacted = paths.map(() => 0);
    this.#hidesSecrets = hidesSecrets;
  }

  get hidden(): HiddenValues {
    const paths = this.#paths.map(pathText);
    const redacted = this.#redacted.reduce((sum, count) => sum + count, 0);
    const idle = paths.filter((_path, at) => this.#redacted[at] === 0);
    return { secrets: this.#secrets, redacted, paths, idle, off: !this.#hidesSecrets };
  }

  /** Whether values are hidden by path. Raw records have no such paths. */
  get hasPaths(): boolean {
    return this.#paths.length > 0;
  }

  /** Returns a copy without hidden values. `path` is the position of the value. */
  value(value: unknown, path: readonly string[]): unknown {
    const isWithin = path.some((_key, at) => this.#hides({ whole: path.slice(0, at + 1), named: [] }));
    if (isWithin) return hiddenText;
    return this.#copy(value, { whole: path, named: path }, this.#isSecret(path.at(-1)), 0);
  }

  text(text: string): string {
    if (!this.#hidesSecrets) return text;
    let shown = text;
    for (const pattern of secretPatterns) {
      shown = shown.replace(pattern, (_found: string, before?: unknown) => {
        this.#secrets += 1;
        return (typeof before === "string" ? before : "") + hiddenText;
      });
    }
    return shown;
  }

  #isSecret(name: unknown): boolean {
    return this.#hidesSecrets && typeof name === "string" && isSecretName(name);
  }

  /** Returns whether a path hides a position, and counts the match. */
  #hides({ whole, named }: Place): boolean {
    const by = this.#paths.findIndex((path) => endsWith(whole, path) || endsWith(named, path));
    if (by < 0) return false;
    this.#redacted[by] = (this.#redacted[by] ?? 0) + 1;
    return true;
  }

  #copy(value: unknown, place: Place, isSecret: boolean, depth: number): unknown {
    if (depth > 0 && this.#hides(place)) return hiddenText;
    if (typeof value === "string") return isSecret ? this.#secret(value) : this.text(value);
    if (typeof value === "number" && isSecret) return this.#secret(String(value));
    if (typeof value !== "object" || value === null) return value;
    if (depth >= deepest) return "… deeper levels are not shown";
    if (Array.isArray(value)) return this.#copyList(value, place, isSecret, depth + 1);
    return this.#copyObject(value, place, isSecret, depth + 1);
  }

  /** Handles maps and headers, which are lists of pairs. */
  #copyList(list: readonly unknown[], { whole, named }: Place, isSecret: boolean, depth: number): unknown {
    return list.map((item: unknown, index) => {
      const at = { whole: [...whole, String(index)], named };
      if (!isPair(item)) return this.#copy(item, at, isSecret, depth);
      const [key, value] = item;
      if (this.#hides(at)) return hiddenText;
      const within = { whole: [...at.whole, "1"], named: [...named, key] };
      const first = this.#copy(key, { whole: [...at.whole, "0"], named: [] }, isSecret, depth + 1);
      return [first, this.#copy(value, within, isSecret || this.#isSecret(key), depth + 1)];
    });
  }

  #copyObject(value: object, { whole, named }: Place, isSecret: boolean, depth: number): object {
    const { key: ownKey, name } = value as { readonly key?: unknown; readonly name?: unknown };
    const isNamed = this.#isSecret(ownKey) || this.#isSecret(name);
    const tool = toolOf(value);
    const entries = Object.entries(value).map(([key, item]) => {
      const hides = isSecret || this.#isSecret(key) || (isNamed && key === "value");
      const isOfTool = tool !== undefined && (key === "input" || key === "output");
      const place = isOfTool
        ? { whole: [tool, key], named: [tool, key] }
        : { whole: [...whole, key], named: [...named, key] };
      return [key.length < shortestSecret ? key : this.text(key), this.#copy(item, place, hides, depth)] as const;
    });
    return Object.fromEntries(entries);
  }

  #secret(text: string): string {
    if (text === "") return text;
    this.#secrets += 1;
    return hiddenText;
  }
}

function isPair(item: unknown): item is readonly [key: string, value: unknown] {
  return Array.isArray(item) && item.length === 2 && typeof item[0] === "string";
}

/** Returns the tool of an object that represents a call, such as a part of a message. */
function toolOf(value: object): string | undefined {
  const { toolName, tool } = value as { readonly toolName?: unknown; readonly tool?: unknown };
  const name = toolName ?? tool;
  return typeof name === "string" ? name : undefined;
}

function endsWith(path: readonly string[], redacted: RedactedPath): boolean {
  const from = path.length - redacted.length;
  return from >= 0 && redacted.every((segment, index) => segment === "*" || segment === path[from + index]);
}
