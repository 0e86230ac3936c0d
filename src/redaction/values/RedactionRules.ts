import { isAt, type RedactedPath, type ValuePlace } from "../../internal/options/redactedPath.ts";

export interface RedactionRules {
  readonly paths: readonly RedactedPath[];
  /** Returns a text without its secrets. `undefined` if texts are redacted by their paths only. */
  readonly text?: ((text: string) => string) | undefined;
}

export const redactedText = "[redacted]";

export function isRedacted({ paths }: RedactionRules, place: ValuePlace): boolean {
  return paths.some((path) => isAt(place, path));
}

/** Returns whether a part of the input or output of a tool is redacted. */
export function hasRulesOfTools({ paths }: RedactionRules, side: "input" | "output"): boolean {
  return paths.some(([, field]) => field === side || field === "*");
}

/**
 * Returns whether a part of a value is redacted. The value is the input or the output of a tool, or a part of these.
 */
export function hasRulesBelow({ paths }: RedactionRules, place: ValuePlace): boolean {
  return paths.some((path) => startsWith(path, place.named) || startsWith(path, place.whole));
}

function startsWith(path: RedactedPath, place: readonly string[]): boolean {
  if (place.length < 2 || path.length <= place.length) return false;
  return place.every((key, at) => path[at] === key || path[at] === "*");
}

/** Returns the shown form of a text. A function that throws or returns no text redacts the whole text. */
export function shownText({ text: redact }: RedactionRules, text: string): string {
  if (!redact) return text;
  try {
    const shown: unknown = redact(text);
    return typeof shown === "string" ? shown : redactedText;
  } catch {
    return redactedText;
  }
}
