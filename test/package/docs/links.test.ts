import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const repository = fileURLToPath(new URL("../../../", import.meta.url));
const { files } = JSON.parse(readFileSync(`${repository}package.json`, "utf8")) as {
  readonly files: readonly string[];
};
/** Packed whatever `files` says. */
const always = ["README.md", "LICENSE", "package.json"];

const pages = [
  "README.md",
  ...readdirSync(`${repository}docs`, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".md"))
    .map((path) => `docs/${path.replaceAll("\\", "/")}`),
];

function linksOf(page: string): readonly string[] {
  const text = readFileSync(`${repository}${page}`, "utf8").replaceAll(/```.*?```|`[^`\n]*`/gs, "");
  const targets = [...text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map(([, target]) => target ?? "");
  return targets
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => new URL(target, `file:///${page}`).pathname.slice(1));
}

const isPacked = (path: string) => always.includes(path) || files.some((folder) => path.startsWith(folder));

it.each(pages)("%s links only to existing files of the package", (page) => {
  expect(linksOf(page).filter((path) => !existsSync(`${repository}${path}`) || !isPacked(path))).toEqual([]);
});

it("the check of links finds links", () => {
  expect(pages.flatMap(linksOf).length).toBeGreaterThan(50);
});
