import { readFileSync } from "node:fs";

/** A page of the index, such as "- [Chat](chat.md): Build a conversation." */
export interface ListedPage {
  readonly title: string;
  /** Relative to `docs`. */
  readonly file: string;
  readonly description: string;
}

export interface PageGroup {
  readonly title: string;
  readonly pages: readonly ListedPage[];
}

/** The group of pages that the site contains, but neither shows in its navigation nor finds in its search. */
export const projectGroup = "Project";

/** Returns the groups of pages that `docs/README.md` lists. */
export function pageGroups(): readonly PageGroup[] {
  const [, ...sections] = readFileSync(new URL("../README.md", import.meta.url), "utf8").split(/^## /m);
  return sections
    .map((section) => ({ title: section.split("\n")[0] ?? "", pages: pagesIn(section) }))
    .filter(({ pages }) => pages.length > 0);
}

function pagesIn(section: string): readonly ListedPage[] {
  const lines = [...section.matchAll(/^- \[(.+?)\]\(([^)]+)\): (.+)$/gm)];
  return lines.map(([, title = "", file = "", description = ""]) => ({ title, file, description }));
}
