import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { manifest } from "./entries.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Returns the path of a page in the site. The README is the first page, and the index of the documentation another. */
function sitePathOf(page: string): string {
  if (page === "README.md") return "index.md";
  if (page === "docs/README.md") return "contents.md";
  return page.replace("docs/", "");
}

/** Where links to files outside of the site lead. Without it, they become plain text. */
const repositoryUrl = urlOf(manifest.repository);

/** The pages of the repository with their paths in the site, such as `docs/chat.md` with `chat.md`. */
const pages: ReadonlyMap<string, string> = new Map(
  ["README.md", ...pagesOfDocs()].map((page) => [page, sitePathOf(page)]),
);

function pagesOfDocs(): readonly string[] {
  const files = readdirSync(join(root, "docs")).filter((file) => file.endsWith(".md"));
  return files.map((file) => `docs/${file}`);
}

/**
 * Copies all pages and images into a folder, with the links that a site needs.
 *
 * @throws Error if a page links to a file that does not exist
 */
export function preparePages(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const [page, sitePath] of pages) {
    writeFileSync(join(folder, sitePath), withSiteLinks(page, withoutComments(readFileSync(join(root, page), "utf8"))));
  }
  cpSync(join(root, "docs/images"), join(folder, "images"), { recursive: true });
}

/** Removes the comments that complete the code of a page for the compiler. */
const withoutComments = (text: string): string => text.replaceAll(/<!--[\s\S]*?-->\n*/g, "");

/** Code is skipped, because it may look like a link. */
const linkOrCode = /```[\s\S]*?```|`[^`\n]*`|\]\(([^)\s]+)\)/g;
/** A link to a file of the repository that the site does not contain, such as an example or a decision. */
const outsideLink = /\[([^[\]]+)\]\(outside:([^)]+)\)/g;
/** Links in parentheses, which say nothing without their target, such as "([why](decisions/0001-the-log.md))". */
const outsideReason = / \((?:\[[^[\]]+\]\(outside:[^)]+\)(?:, )?)+\)/g;

function withSiteLinks(page: string, text: string): string {
  const linked = text.replaceAll(linkOrCode, (found: string, target?: string) =>
    target === undefined ? found : `](${siteLink(page, target)})`,
  );
  return repositoryUrl === undefined
    ? linked.replaceAll(outsideReason, "").replaceAll(outsideLink, "$1")
    : linked.replaceAll(outsideLink, `[$1](${repositoryUrl}/tree/main/$2)`);
}

function siteLink(page: string, target: string): string {
  if (target.startsWith("#") || /^[a-z]+:/.test(target)) return target;
  const [path = "", hash] = target.split("#");
  const file = posix.join(posix.dirname(page), path);
  if (!existsSync(join(root, file))) throw new Error(`${page} links to ${target}, which does not exist.`);
  const sitePath = pages.get(file) ?? imagePath(file);
  if (sitePath === undefined) return `outside:${file}`;
  const relative = posix.relative(posix.dirname(sitePathOf(page)), sitePath);
  return `./${relative}${hash === undefined ? "" : `#${hash}`}`;
}

const imagePath = (file: string): string | undefined =>
  file.startsWith("docs/images/") ? file.replace("docs/", "") : undefined;

function urlOf(repository: typeof manifest.repository): string | undefined {
  const url = typeof repository === "string" ? repository : repository?.url;
  return url?.replace(/^git\+/, "").replace(/\.git$/, "");
}
