import type { AgentInspector } from "../inspect/AgentInspector.ts";
import { TimelineReader } from "./data/TimelineReader.ts";
import { checkTimelineOptions, type TimelineOptions } from "./options/TimelineOptions.ts";
import type { RunTrace } from "../replay/trace/RunTrace.ts";
import { comparedRuns, type ComparisonData } from "./data/comparedRuns.ts";
import { createHash } from "node:crypto";
import type { TimelineAgent, TimelineItem, ListedPage } from "./data/TimelineData.ts";
import { readFile } from "node:fs/promises";

/**
 * Renders the timeline of an agent as one self-contained HTML page, in pieces. The log is read in parts while you
 * consume the pieces. A damaged log is shown up to the damage, with a notice.
 *
 * @throws InvalidInputError if the agent does not exist or an option is invalid
 */
export async function* timelinePage(
  inspector: AgentInspector,
  agentId: string,
  options: TimelineOptions = {},
): AsyncGenerator<string, void> {
  const reader = new TimelineReader(inspector, agentId, checkTimelineOptions(options, "timeline"));
  await reader.view();
  const assets = await pageAssets();
  yield* pageHtml({ ...assets, title: `${agentId} · timeline`, items: reader.items(), agent: () => reader.agent() });
}

/**
 * Renders two runs side by side as one self-contained HTML page, in pieces: aligned steps, the first difference, changed
 * messages and calls, tokens, times and costs. Hides the same values as a timeline.
 *
 * @throws InvalidInputError if a run or an option is invalid
 *
 * @example
 * ```ts
 * const [before, after] = [await readRunTrace(storage, { agentId: "a" }), await readRunTrace(storage, { agentId: "b" })];
 * await writeFile("comparison.html", comparisonPage(before, after));
 * ```
 */
export async function* comparisonPage(
  before: RunTrace,
  after: RunTrace,
  options: Omit<TimelineOptions, "last"> = {},
): AsyncGenerator<string, void> {
  const data = comparedRuns(before, after, checkTimelineOptions(options, "comparison"));
  yield* valueHtml(await pageAssets(), `${before.agentId} ↔ ${after.agentId} · comparison`, data);
}

let loaded: Promise<PageAssets> | undefined;

interface PageParts extends PageAssets {
  readonly items: AsyncIterable<TimelineItem>;
  /** Returns the data at the top of the page. Called after all items. */
  readonly agent: () => Promise<TimelineAgent>;
  readonly title: string;
  /** The address of updates on the same server. Omitted if the page must not make requests. */
  readonly events?: string;
}

/**
 * Yields the page in pieces. The data is in a script element that browsers do not run, and contains no `<`, so that no
 * text can close it. The content security policy of the page permits only the script and style of this package, by
 * their hashes.
 */
export async function* pageHtml(parts: PageParts): AsyncGenerator<string, void> {
  yield* documentHtml(parts, timelineJson(parts));
}

/** The minimum length of a piece, because each piece costs several turns of the event loop. */
const pieceLength = 64 * 1024;

async function* timelineJson({ items, agent }: PageParts): AsyncGenerator<string, void> {
  let piece = '{"items":[';
  let separator = "";
  for await (const item of items) {
    piece += separator + inertJson(item);
    separator = ",\n";
    if (piece.length < pieceLength) continue;
    yield piece;
    piece = "";
  }
  yield `${piece}],"agent":${inertJson(await agent())}}`;
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
<title>${escaped(JSON.parse(inertJson(title)) as string)}</title>
<style>${style}</style>
</head>
<body>
<div id="timeline"${source}><noscript>This page needs JavaScript.</noscript></div>
<script type="application/json" id="timeline-data">`;
  yield* data;
  yield `</script>\n<script>${script}</script>\n</body>\n</html>\n`;
}

/** Returns the policy that permits only the page's script and style. */
export function contentSecurityPolicy({ script, style, events }: Omit<DocumentParts, "title">): string {
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

/** Characters that are invisible or reorder text. The joiners U+200C and U+200D stay, because emoji need them. */
const unseen =
  /[\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e0fff}]/gu;
/** Matches every character to replace, and some others, because each surrogate begins many characters. */
const needsEscape =
  /[<\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\udb40-\udb43]|\\u00/;
const escapedControl = /(?<!\\)((?:\\\\)*)\\u00([01][0-9a-f])/g;

/** Encodes JSON for a script element. Control and invisible characters and `<` become text such as `\u{202e}`. */
export function inertJson(value: unknown): string {
  const json = JSON.stringify(value);
  if (!needsEscape.test(json)) return json;
  return json
    .replace(escapedControl, "$1\\\\x$2")
    .replace(unseen, (character) => `\\\\u{${character.codePointAt(0)?.toString(16)}}`)
    .replaceAll("<", "\\u003c")
    .replaceAll("\u2028", "\\u2028")
    .replaceAll("\u2029", "\\u2029");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

/** Yields a page of one value, in pieces. */
export async function* valueHtml(
  assets: PageAssets,
  title: string,
  value: ComparisonData | { readonly agents: readonly ListedPage[] },
): AsyncGenerator<string, void> {
  yield* documentHtml({ ...assets, title }, [inertJson(value)]);
}

interface PageAssets {
  readonly script: string;
  readonly style: string;
}

export function pageAssets(): Promise<PageAssets> {
  loaded ??= readAssets();
  return loaded;
}

async function readAssets(): Promise<PageAssets> {
  const [script, style] = await Promise.all(
    ["page.js", "page.css"].map((name) => readFile(new URL(`./timeline-page/${name}`, import.meta.url), "utf8")),
  );
  return { script: script ?? "", style: style ?? "" };
}
