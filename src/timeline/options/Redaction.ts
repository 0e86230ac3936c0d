import { mayBeToolCallId } from "../../checkpoint/ids/toolCallId.ts";
import {
  isAt,
  isPair,
  pathText,
  type RedactedPath,
  toolOf,
  type ValuePlace,
} from "../../internal/options/redactedPath.ts";

/** Matches names of keys with secret values. `apiKey` and `API-KEY` are first converted to `api_key`. */
const secretName = new RegExp(
  [
    /(password|passwd|passphrase|passcode|secret|credential)s?(_|$)/,
    /(api|private|access|account|signing|encryption|master|deploy|service|ssh)_?key(_|$)/,
    /(^|_)(bearer|cookies?|signature|jwt|mnemonic|seed_?phrase)$/,
    /authorization$/,
    /session_?(id|key)$/,
    /(^|_)(pass|pgpass|pwd|token|auth|otp|pin|cvv)$/,
  ]
    .map(({ source }) => source)
    .join("|"),
);

const named = "pass(?:word|wd|phrase|code)?|pwd|secret|(?:api|access|private|account|signing|encryption)[-_]?key|token";

/**
 * Patterns of secrets in texts. The match is hidden except for its first group. Hostile texts must not cause quadratic
 * time. So an unbounded repetition must be the last part of its pattern, or must start at a place where no other
 * repetition of the same characters can start.
 */
const secretPatterns: readonly RegExp[] = [
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:\s{0,4}[A-Za-z-]{1,40}: [^\n]{1,200}){0,4}[A-Za-z0-9+/=\s\\]*(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?/g,
  /(?<![A-Za-z0-9])(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}/g,
  /(?<![A-Za-z0-9])(?:gh[pousr]_|github_pat_|npm_|hf_|gsk_|whsec_|shp(?:at|ca|pa|ss)_|dop_v1_)[A-Za-z0-9_]{20,}/g,
  /(?<![A-Za-z0-9])(?:glpat-|xai-|xapp-|xox[abeoprs]-|GOCSPX-|pypi-|sq0csp-|sq0atp-)[A-Za-z0-9_-]{10,}/g,
  /\b(?:SG|hvs|ya29)\.[A-Za-z0-9._-]{16,}/g,
  /\bAGE-SECRET-KEY-[A-Z0-9]{20,}/g,
  /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g,
  /\bAIza[0-9A-Za-z_-]{30,}/g,
  /\b\d{8,10}:[A-Za-z0-9_-]{35}\b/g,
  /(hooks\.slack\.com\/services\/)[A-Za-z0-9/]{10,}/g,
  /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g,
  /(?<=[_-])eyJ[A-Za-z0-9_-]{8,200}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g,
  /(\bauthorization\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?(?:[a-z]{2,20}\s)?)(?!\[hidden\])[^\s"',;]{6,}/gi,
  /(\b(?:Bearer|Basic)\s{1,4})[A-Za-z0-9._~+/-]{12,}={0,2}/gi,
  /(\b(?:set-)?cookie\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?)(?!\[hidden\])[^\n"']{6,}/gi,
  /(:\/\/[^\s:/@]{0,256}:)[^\s/]{1,256}(?=@)/g,
  /([?&](?:sig|signature|X-Amz-Signature|X-Goog-Signature)=)[A-Za-z0-9%+/=_-]{10,}/gi,
  new RegExp(`((?:${named})\\\\{0,3}["']?\\s{0,3}[:=]\\s{0,3}\\\\{0,3}["']?)(?!\\[hidden\\])[^\\s"',;\\\\]{6,}`, "gi"),
];

/** A summary of the values that a timeline hides, for its reader. */
export interface HiddenValues {
  /** The number of values that looked like secrets. */
  readonly secrets: number;
  /** The number of values at redacted paths. */
  readonly redacted: number;
  readonly paths: readonly string[];
  /** The redacted paths that matched no value. */
  readonly idle: readonly string[];
  /** Whether the search for secrets was disabled. */
  readonly off: boolean;
}

const hiddenText = "[hidden]";

/** An encrypted value in the log of an agent with a vault. Pages do not show its content. */
const redactedToken = /\[redacted:[\w-]+\.[\w-]+\.[\w-]+\]/g;

/** The maximum depth. A notice replaces deeper values, because code that walks them would overflow the stack. */
const deepest = 200;

/** The length of the shortest secret with a name, `pwd=123456`. Only passwords before an `@` in URLs are shorter. */
const shortestMatch = 10;

/** The minimum length of object keys in which secrets are searched. */
const shortestSecret = 16;

/** The maximum number of remembered texts without secrets, because a page shows a message twice. */
const mostClean = 1_000;
const longestClean = 10_000;

/** Hides secrets and values at given paths, and counts them. */
export class Redaction {
  readonly #paths: readonly RedactedPath[];
  readonly #hidesSecrets: boolean;
  readonly #redacted: number[];
  readonly #clean = new Set<string>();
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

  /** Whether values are hidden by path. Paths do not apply to raw records, so a page with paths omits raw records. */
  get hasPaths(): boolean {
    return this.#paths.length > 0;
  }

  /** Returns a copy of a value without hidden values. `path` is the path of the value. */
  value(value: unknown, path: readonly string[]): unknown {
    const isWithin = path.some((_key, at) => this.#hides({ whole: path.slice(0, at + 1), named: [] }));
    if (isWithin) return hiddenText;
    return this.#copy(value, { whole: path, named: path }, this.#isSecret(path.at(-1)), 0);
  }

  text(stored: string): string {
    const text = stored.includes("[redacted:") ? stored.replaceAll(redactedToken, "[redacted]") : stored;
    // Skips short texts, such as most names and ids, because 18 patterns take much longer than this check.
    if (!this.#hidesSecrets || (text.length < shortestMatch && !text.includes("@"))) return text;
    if (this.#clean.has(text)) return text;
    let shown = text;
    for (const pattern of secretPatterns) {
      shown = shown.replace(pattern, (_found: string, before?: unknown) => {
        this.#secrets += 1;
        return (typeof before === "string" ? before : "") + hiddenText;
      });
    }
    if (shown === text) this.#addClean(text);
    return shown;
  }

  #addClean(text: string): void {
    if (text.length > longestClean) return;
    if (this.#clean.size === mostClean) this.#clean.clear();
    this.#clean.add(text);
  }

  #isSecret(name: unknown): boolean {
    return this.#hidesSecrets && typeof name === "string" && isSecretName(name);
  }

  /** Returns whether a path hides a value, and counts it. */
  #hides(place: ValuePlace): boolean {
    const by = this.#paths.findIndex((path) => isAt(place, path));
    if (by < 0) return false;
    this.#redacted[by] = (this.#redacted[by] ?? 0) + 1;
    return true;
  }

  #copy(value: unknown, place: ValuePlace, isSecret: boolean, depth: number): unknown {
    if (depth > 0 && this.#hides(place)) return hiddenText;
    if (isSecret && isSingleValue(value)) return this.#secret(value);
    if (typeof value === "string") return isCallId(value, place) ? value : this.text(value);
    if (typeof value !== "object" || value === null) return value;
    if (depth >= deepest) return "… deeper levels are not shown";
    return Array.isArray(value)
      ? this.#copyList(value, place, isSecret, depth + 1)
      : this.#copyInstance(value, place, isSecret, depth + 1);
  }

  #copyInstance(value: object, place: ValuePlace, isSecret: boolean, depth: number): unknown {
    if (value instanceof Map || value instanceof Set) return this.#copyCollection(value, place, isSecret, depth);
    if (value instanceof URL) return this.#copyUrl(value);
    if (ArrayBuffer.isView(value) || value instanceof Date) return value;
    return this.#copyObject(value, place, isSecret, depth);
  }

  /** Hides secrets in a URL. Returns a text if the result is not a valid URL, for example if the host is hidden. */
  #copyUrl({ href }: URL): URL | string {
    const text = this.text(href);
    return URL.canParse(text) ? new URL(text) : text;
  }

  /** Copies a list. A pair counts as an entry of a map or as a header. */
  #copyList(list: readonly unknown[], { whole, named }: ValuePlace, isSecret: boolean, depth: number): unknown[] {
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

  #copyCollection(
    value: ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>,
    place: ValuePlace,
    isSecret: boolean,
    depth: number,
  ): unknown {
    const items = this.#copyList([...value], place, isSecret, depth);
    if (value instanceof Set) return new Set(items);
    return new Map(items.map((item) => (Array.isArray(item) ? item : [item, item]) as [unknown, unknown]));
  }

  #copyObject(value: object, { whole, named }: ValuePlace, isSecret: boolean, depth: number): object {
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
    const copy = Object.fromEntries(entries);
    const prototype = Object.getPrototypeOf(value) as object | null;
    return prototype === Object.prototype ? copy : (Object.assign(Object.create(prototype), copy) as object);
  }

  #secret(value: unknown): string {
    if (value === "") return "";
    this.#secrets += 1;
    return hiddenText;
  }
}

/** Returns whether a text is the id of a tool call. Its characters are random, so it can start like a secret: "sk-". */
function isCallId(text: string, { whole }: ValuePlace): boolean {
  return whole.at(-1) === "toolCallId" && mayBeToolCallId(text);
}

/** Returns whether a value with a secret name is hidden as a whole. In lists and objects, the parts are hidden. */
function isSingleValue(value: unknown): boolean {
  if (typeof value !== "object") return ["string", "number", "bigint"].includes(typeof value);
  return ArrayBuffer.isView(value) || value instanceof Date || value instanceof URL;
}

/** Caches whether a name is secret, because the keys of records and messages repeat. */
const secretNames = new Map<string, boolean>();
const mostNames = 1_000;
const longestName = 100;

function isSecretName(name: string): boolean {
  const known = secretNames.get(name);
  if (known !== undefined) return known;
  const parts = name.replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2").replaceAll("-", "_");
  const isSecret = secretName.test(parts.toLowerCase());
  if (secretNames.size < mostNames && name.length < longestName) secretNames.set(name, isSecret);
  return isSecret;
}
