import { createHash } from "node:crypto";
import type { TimelineAgent, TimelineItem } from "../data/TimelineData.ts";
import type { ListedPage } from "../data/ListedPage.ts";
import type { PageAssets } from "./pageAssets.ts";

/** What a page consists of. */
export interface PageParts extends PageAssets {
  readonly items: AsyncIterable<TimelineItem>;
  /** What is said of the agent, once all items are known. */
  readonly agent: () => Promise<TimelineAgent>;
  readonly title: string;
  /** Where news comes from, of the same origin. Absent: nothing may be asked for. */
  readonly events?: string;
}

/**
 * The page in pieces. Data stands in a script that no browser runs, and no text of it can end that script: it contains no
 * `<`. Only the script and the style of the package may run, which the policy names by their hashes.
 */
export async function* pageHtml(parts: PageParts): AsyncGenerator<string, void> {
  yield* documentHtml(parts, timelineJson(parts));
}

async function* timelineJson({ items, agent }: PageParts): AsyncGenerator<string, void> {
  let separator = '{"items":[';
  for await (const item of items) {
    yield separator + inertJson(item);
    separator = ",\n";
  }
  yield `${separator === ",\n" ? "" : separator}],"agent":${inertJson(await agent())}}`;
}

type DocumentParts = Omit<PageParts, "items" | "agent">;

async function* documentHtml(
  parts: DocumentParts,
  data: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<string, void> {
  const { script, style, title, events } = parts;
  const source = events === undefined ? "" : ` data-events="${escaped(events)}"`;
  yield `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${contentSecurityPolicy(parts)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${escaped(title)}</title>
<style>${style}</style>
</head>
<body>
<div id="timeline"${source}><noscript>This page needs JavaScript.</noscript></div>
<script type="application/json" id="timeline-data">`;
  yield* data;
  yield `</script>\n<script>${script}</script>\n</body>\n</html>\n`;
}

/** What the page may do: run its own script, use its own style, and nothing else. */
export function contentSecurityPolicy({
  script,
  style,
  events,
}: Pick<PageParts, "script" | "style" | "events">): string {
  return [
    "default-src 'none'",
    `script-src '${hashOf(script)}'`,
    `style-src '${hashOf(style)}'`,
    ...(events === undefined ? [] : ["connect-src 'self'"]),
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
}

function hashOf(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}

/** What changes the order of other text, or what nobody sees: as it stands in JSON, and as JSON escapes it. */
const unseen = /[\u007f-\u009f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/gu;
const escapedControl = /(?<!\\)((?:\\\\)*)\\u00([01][0-9a-f])/g;

/**
 * JSON that may stand in a script: a browser finds no end of the script in it, and no comment. Characters that would change
 * the order of other text, and controls, are given as text such as `\u{202e}`.
 */
export function inertJson(value: unknown): string {
  return JSON.stringify(value)
    .replace(escapedControl, "$1\\\\x$2")
    .replace(unseen, (character) => `\\\\u{${character.codePointAt(0)?.toString(16)}}`)
    .replaceAll("<", "\\u003c")
    .replaceAll("\u2028", "\\u2028")
    .replaceAll("\u2029", "\\u2029");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

/** The list of agents as a page, in pieces. */
export async function* listHtml(assets: PageAssets, agents: readonly ListedPage[]): AsyncGenerator<string, void> {
  yield* documentHtml({ ...assets, title: "Agents" }, [inertJson({ agents })]);
}
