/**
 * Characters that a terminal obeys, that change the order of others, or that nobody sees: controls, bidi, invisible ones,
 * letters without a form, selectors of forms other than those of emoji, and lone halves.
 */
const obeyed =
  /[\ufe00-\ufe0d\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\u{e0000}-\u{e0fff}\u115f\u1160\u2800\u3164\uffa0]|\u034f/gu;
/** Emoji and some scripts are written with these two. */
const joiners = new Set(["\u{200c}", "\u{200d}"]);
const named: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** A text of a log or of a user as one line that a terminal shows and never obeys: `\x1b` stands for an escape. */
export function visibleText(text: string): string {
  return text.replace(obeyed, (character) =>
    joiners.has(character) ? character : (named[character] ?? hex(character)),
  );
}

/** The same for a text of several lines: its line breaks stay, and tabs are spaces. */
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

/** JSON that a terminal may show: what {@link visibleText} would replace is escaped, so it parses to the same value. */
export function visibleJson(json: string): string {
  return json.replace(obeyed, (character) => {
    if (character === "\n" || joiners.has(character)) return character;
    return [...Array(character.length).keys()]
      .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`)
      .join("");
  });
}
