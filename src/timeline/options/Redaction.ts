import type { HiddenValues } from "./HiddenValues.ts";
import { isSecretName, secretPatterns } from "./secretPatterns.ts";
import type { RedactedPath } from "./redactedPath.ts";

/** What stands in the place of a hidden value. */
export const hiddenText = "[hidden]";

/** Deeper values are given as a text that says so: nobody reads them, and code that walks them would end. */
const deepest = 200;

/** Hides secrets and what is at given paths, and counts what it has hidden. */
export class Redaction {
  readonly #paths: readonly RedactedPath[];
  readonly #hidesSecrets: boolean;
  #secrets = 0;
  #redacted = 0;

  constructor(paths: readonly RedactedPath[], hidesSecrets: boolean) {
    this.#paths = paths;
    this.#hidesSecrets = hidesSecrets;
  }

  get hidden(): HiddenValues {
    const paths = this.#paths.map((path) => path.join("."));
    return { secrets: this.#secrets, redacted: this.#redacted, paths, off: !this.#hidesSecrets };
  }

  /** Whether values are hidden by their path, which raw records do not have. */
  get hasPaths(): boolean {
    return this.#paths.length > 0;
  }

  /** A copy of a value without what is hidden. `path` is where the value is. */
  value(value: unknown, path: readonly string[]): unknown {
    return this.#copy(value, path, false, 0);
  }

  /** A text without the secrets in it. */
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

  #copy(value: unknown, path: readonly string[], isSecret: boolean, depth: number): unknown {
    if (this.#paths.some((redacted) => endsWith(path, redacted))) {
      this.#redacted += 1;
      return hiddenText;
    }
    if (typeof value === "string") return isSecret ? this.#secret(value) : this.text(value);
    if (typeof value !== "object" || value === null) return value;
    if (depth >= deepest) return "… deeper levels are not shown";
    if (Array.isArray(value))
      return value.map((item, index) => this.#copy(item, [...path, String(index)], isSecret, depth + 1));
    return this.#copyObject(value, path, isSecret, depth);
  }

  #copyObject(value: object, path: readonly string[], isSecret: boolean, depth: number): object {
    const name = (value as { readonly key?: unknown }).key;
    const isNamed = this.#hidesSecrets && typeof name === "string" && isSecretName(name);
    const tool = toolOf(value);
    const entries = Object.entries(value).map(([key, item]) => {
      const hides = isSecret || (this.#hidesSecrets && isSecretName(key)) || (isNamed && key === "value");
      const place = tool !== undefined && (key === "input" || key === "output") ? [tool, key] : [...path, key];
      return [key, this.#copy(item, place, hides, depth + 1)] as const;
    });
    return Object.fromEntries(entries);
  }

  #secret(text: string): string {
    if (text === "") return text;
    this.#secrets += 1;
    return hiddenText;
  }
}

/** The tool whose call an object is, such as a part of a message. */
function toolOf(value: object): string | undefined {
  const { toolName, tool } = value as { readonly toolName?: unknown; readonly tool?: unknown };
  const name = toolName ?? tool;
  return typeof name === "string" ? name : undefined;
}

/** Whether a path ends with a redacted one. */
function endsWith(path: readonly string[], redacted: RedactedPath): boolean {
  const from = path.length - redacted.length;
  return from >= 0 && redacted.every((segment, index) => segment === "*" || segment === path[from + index]);
}
