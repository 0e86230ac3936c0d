import { readFileSync } from "node:fs";

/** A kind of text, with the most hits in 1,000 words that it may have. */
export interface Part {
  readonly goal: number;
  readonly includes: (file: string) => boolean;
  readonly textOf: (source: string) => string;
}

const isSource = (file: string): boolean => /^src\/.*\.tsx?$/.test(file);

/** The parts of the project that people read. */
export const parts: Readonly<Record<string, Part>> = {
  comments: { goal: 5, includes: isSource, textOf: commentsOf },
  errors: { goal: 5, includes: (file) => isSource(file) && file.includes("errors/"), textOf: messagesOf },
  docs: { goal: 5, includes: (file) => /^(?:docs\/.*|README)\.md$/.test(file), textOf: (source) => source },
  tests: { goal: 8, includes: (file) => /\.test\.tsx?$/.test(file), textOf: titlesOf },
};

/** Returns the prose of one file of a part, without code, tables, headings and links. */
export function proseOf(part: Part, file: string): string {
  return part
    .textOf(readFileSync(file, "utf8"))
    .replaceAll(/```[\s\S]*?```/g, " ")
    .replaceAll(/`[^`]*`/g, "x")
    .replaceAll(/\{@link[^}]*\}/g, "x")
    .replaceAll(/^\s*\|.*\|\s*$/gm, " ")
    .replaceAll(/\]\([^)]*\)/g, "]")
    .replaceAll(/@\w+/g, " ")
    .replaceAll(/^#+ .*$/gm, " ");
}

function commentsOf(code: string): string {
  const blocks = [...code.matchAll(/\/\*\*?([\s\S]*?)\*\//g)].map(([, body = ""]) => body.replaceAll(/^\s*\*/gm, " "));
  const lines = [...code.matchAll(/^\s*\/\/(.*)$/gm)].map(([, body = ""]) => body);
  return [...blocks, ...lines].join("\n\n");
}

function messagesOf(code: string): string {
  return stringsOf(code, /(?:`|")([A-Z][^`"]{25,}?)(?:`|")/g);
}

function titlesOf(code: string): string {
  return stringsOf(code, /\b(?:it|test|describe)(?:\.\w+)*\(\s*["'`]([^"'`]+)/g);
}

function stringsOf(code: string, pattern: RegExp): string {
  return [...code.matchAll(pattern)].map(([, text]) => text).join(".\n");
}
