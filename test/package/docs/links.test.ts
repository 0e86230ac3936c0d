import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const repository = fileURLToPath(new URL("../../../", import.meta.url));

const pages = [
  "README.md",
  ...readdirSync(`${repository}docs`, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".md") && !path.startsWith(".site"))
    .map((path) => `docs/${path.replaceAll("\\", "/")}`),
];

const textOf = (page: string) => readFileSync(`${repository}${page}`, "utf8").replaceAll(/```.*?```/gs, "");

function linksOf(page: string): readonly string[] {
  const text = textOf(page).replaceAll(/`[^`\n]*`/g, "");
  const targets = [...text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map(([, target]) => target ?? "");
  return targets
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => new URL(target, `file:///${page}`).pathname.slice(1));
}

/** Returns the links of a page to a heading of a page, as `docs/page.md#heading`. */
function headingLinksOf(page: string): readonly string[] {
  const text = textOf(page).replaceAll(/`[^`\n]*`/g, "");
  const targets = [...text.matchAll(/\]\(([^)\s]*#[^)\s]+)\)/g)].map(([, target]) => target ?? "");
  return targets
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => new URL(target, `file:///${page}`))
    .map(({ pathname, hash }) => `${pathname.slice(1)}${hash}`);
}

/** Returns the anchors that GitHub gives to the headings of a page. */
function anchorsOf(page: string): readonly string[] {
  const headings = [...textOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
  return headings.map((anchor, at) => {
    const earlier = headings.slice(0, at).filter((other) => other === anchor).length;
    return `${page}#${anchor}${earlier === 0 ? "" : `-${earlier}`}`;
  });
}

it.each(pages)("%s links only to existing files", (page) => {
  expect(linksOf(page).filter((path) => !existsSync(`${repository}${path}`))).toEqual([]);
});

it.each(pages)("%s links only to existing headings", (page) => {
  const anchors = new Set(pages.flatMap(anchorsOf));
  const links = headingLinksOf(page).filter((link) => link.includes(".md#"));
  expect(links.filter((link) => !anchors.has(link))).toEqual([]);
});

it("the check of links finds links", () => {
  expect(pages.flatMap(linksOf).length).toBeGreaterThan(50);
  expect(pages.flatMap(headingLinksOf).length).toBeGreaterThan(50);
});

it("the comparison in the README links each cell of this package to a page or a test", () => {
  const [, table = ""] = textOf("README.md").split("## Comparison");
  const own = [...table.matchAll(/^\| (?!-)[^|]+\|([^|]+)\|/gm)].map(([, cell = ""]) => cell.trim());
  expect(own.length).toBeGreaterThan(5);
  expect(own.filter((cell) => !/^\[[^\]]+\]\((docs|test)\/[^)]+\)$/.test(cell))).toEqual([]);
});
