/** TypeScript taken from one Markdown file, ready to be compiled as one module. */
export interface CodeGroup {
  /** The line of its first fence, counted from 1. */
  readonly line: number;
  /** As many lines as the Markdown file, so that a compiler's line numbers are those of the page. */
  readonly text: string;
}

const scripts = new Set(["typescript", "tsx", "js", "javascript", "jsx", "mts"]);

/**
 * Every code block of a page, in groups. The conventions, for authors of pages:
 *
 * - "```ts" is a module of its own;
 * - "```ts continued" belongs to the block before it: both are compiled as one;
 * - `<!-- ts` on a line of its own, up to a line `-->`, is code that is compiled with the block that follows but not
 *   shown: for what an example takes as given (`declare const db: Database;`);
 * - there is no way to have code that is not compiled.
 */
export function codeGroups(markdown: string): CodeGroup[] {
  const lines = markdown.split("\n").map((line) => line.trim());
  const groups: { readonly line: number; readonly lines: string[] }[] = [];
  let joins = false;
  for (let at = 0; at < lines.length; at++) {
    const hidden = lines[at] === "<!-- ts";
    const kind = hidden ? "ts" : /^```(\S.*)$/.exec(lines[at] ?? "")?.[1];
    if (kind === undefined) continue;
    const end = endOf(lines, at + 1, hidden ? "-->" : "```");
    if (isCode(kind, at + 1)) {
      if (kind === "ts" && !joins) groups.push({ line: at + 1, lines: lines.map(() => "") });
      const group = groups.at(-1);
      if (group === undefined) throw new Error(`Line ${at + 1}: "ts continued" has no block before it.`);
      for (let inside = at + 1; inside < end; inside++) group.lines[inside] = lines[inside] ?? "";
      joins = hidden;
    }
    at = end;
  }
  return groups.map((group) => ({ line: group.line, text: group.lines.join("\n") }));
}

function endOf(lines: readonly string[], from: number, fence: string): number {
  const end = lines.findIndex((line, at) => at >= from && line === fence);
  if (end < 0) throw new Error(`Line ${from}: this block has no end.`);
  return end;
}

/** Whether a block is TypeScript; throws for what would be code that nobody compiles. */
function isCode(kind: string, line: number): boolean {
  if (kind === "ts" || kind === "ts continued") return true;
  const [language = ""] = kind.split(" ");
  if (language !== "ts" && !scripts.has(language)) return false;
  throw new Error(`Line ${line}: found a block "${kind}"; write "ts" or "ts continued", so that it is compiled.`);
}
