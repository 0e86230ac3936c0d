import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { pageGroups, projectGroup } from "../../../docs/.site/pageGroups.ts";
import { repository } from "../compile.ts";

/** The words of all pages of the site, without the separators of tables. */
const mostWords = 42_500;

describe("the index of the documentation", () => {
  const groups = pageGroups();
  const listed = groups.flatMap(({ pages }) => pages);

  it("has the four kinds of pages, and those of the project", () => {
    const kinds = ["Tutorials", "How-to guides", "Reference", "Explanation", projectGroup];
    expect(groups.map(({ title }) => title)).toEqual(kinds);
  });

  it("lists every page once, with a description", () => {
    const pages = readdirSync(`${repository}docs`).filter((file) => file.endsWith(".md") && file !== "README.md");
    expect(listed.map(({ file }) => file).toSorted()).toEqual([...pages, "decisions/README.md"].toSorted());
    expect(listed.filter(({ description }) => !/^[A-Z].+\.$/.test(description))).toEqual([]);
  });

  it(`has at most ${mostWords} words in the pages of the site`, () => {
    const guides = groups.filter(({ title }) => title !== projectGroup).flatMap(({ pages }) => pages);
    const files = ["README.md", "docs/README.md", ...guides.map(({ file }) => `docs/${file}`)];
    const words = files.map((file) => wordsIn(readFileSync(`${repository}${file}`, "utf8")));
    expect(words.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(mostWords);
  });
});

const wordsIn = (text: string): number => text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
