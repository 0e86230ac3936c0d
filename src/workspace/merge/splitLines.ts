/**
 * The lines of a text, each with its line break; the last one may have none. Only "\n" ends a line, so "\r\n" and "\n"
 * make different lines, as they do for git. Joined, the lines are the text.
 */
export function splitLines(text: string): string[] {
  const lines: string[] = [];
  for (let start = 0; start < text.length;) {
    const lineBreak = text.indexOf("\n", start);
    const end = lineBreak < 0 ? text.length : lineBreak + 1;
    lines.push(text.slice(start, end));
    start = end;
  }
  return lines;
}
