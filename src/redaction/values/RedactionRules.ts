import { isAt, type RedactedPath, type ValuePlace } from "../../internal/redactedPath.ts";

/** Decides which values are redacted. */
export interface RedactionRules {
  readonly paths: readonly RedactedPath[];
  /** Returns a text without its secrets. `undefined` if texts are redacted by their paths only. */
  readonly text?: ((text: string) => string) | undefined;
}

export const redactedText = "[redacted]";

export function isRedacted({ paths }: RedactionRules, place: ValuePlace): boolean {
  return paths.some((path) => isAt(place, path));
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
