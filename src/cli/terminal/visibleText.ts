/**
 * Characters that control a terminal, reorder text or are invisible: controls, bidi and invisible characters, private
 * use, variation selectors (except for emoji), and lone surrogates.
 */
const obeyed =
  /[\ufe00-\ufe0d\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\u{e0000}-\u{e0fff}\u115f\u1160\u2800\u3164\uffa0]|\u034f/gu;
/** Joiners that emoji and some scripts need. */
const joiners = new Set(["\u{200c}", "\u{200d}"]);
const named: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Converts text from a log or a user to one line that cannot control a terminal. An escape becomes `\x1b`. */
export function visibleText(text: string): string {
  return text.replace(obeyed, (character) =>
    joiners.has(character) ? character : (named[character] ?? hex(character)),
  );
}

/** Converts like {@link visibleText}, but keeps line breaks and replaces tabs by spaces. */
export function visibleLines(text: string): string {
  return text
    .split(/\r?\n/)
    .map((line) => visibleText(line.replaceAll("\t", "    ")))
    .join("\n");
}

function hex(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
}

/** Escapes the characters of JSON that {@link visibleText} would replace. The result parses to the same value. */
export function visibleJson(json: string): string {
  return json.replace(obeyed, (character) => {
    if (character === "\n" || joiners.has(character)) return character;
    return [...Array(character.length).keys()]
      .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`)
      .join("");
  });
}

/** Returns the JSON of a value for programs. docs/command-line.md documents values that JSON lacks. */
export function jsonText(value: unknown, indent?: number): string {
  return visibleJson(JSON.stringify(value, replaced, indent) ?? "null");
}

function replaced(this: unknown, key: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  // JSON.stringify() has already converted dates to text.
  const found = (this as Readonly<Record<string, unknown>>)[key];
  if (typeof found !== "object" || found === null) return value;
  if (found instanceof Map) return [...found];
  if (found instanceof Set) return [...found];
  if (found instanceof Uint8Array) return Buffer.from(found).toString("base64");
  if (found instanceof Error) return { name: found.name, ...codeOf(found), message: found.message };
  if (found instanceof RegExp) return String(found);
  return value;
}

function codeOf(error: Error): { readonly code?: string } {
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" ? { code } : {};
}
