import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { codeGroups } from "./codeBlocks.ts";
import { againstSource, complaintsOf, programOf, repository } from "../compile.ts";

const pages = [
  "README.md",
  ...readdirSync(`${repository}docs`, { recursive: true, encoding: "utf8" }).map((path) => `docs/${path}`),
].filter((path) => path.endsWith(".md") && !path.startsWith("docs/.site") && existsSync(repository + path));

describe("code in the documentation", () => {
  it("code in the documentation compiles against the library", () => {
    const modules = new Map<string, string>();
    for (const page of pages) {
      for (const { line, text } of groupsOf(page)) modules.set(`${repository}${page}.from-line-${line}.ts`, text);
    }
    expect(complaintsOf(programOf(modules, againstSource))).toEqual([]);
  });

  it("code in the documentation is compiled at its line numbers, joined if marked, and never omitted", () => {
    const page = [
      "<!-- ts",
      "declare const given: string;",
      "-->",
      "```ts",
      "given;",
      "```",
      "",
      "```ts continued",
      "given;",
      "```",
    ];
    const groups = codeGroups([...page, "```ts", "1;", "```", "```sh", "ls", "```"].join("\n"));
    expect(groups.map(({ line }) => line)).toEqual([1, 11]);
    expect(groups[0]?.text.split("\n").slice(0, 9)).toEqual(["", page[1], "", "", "given;", "", "", "", "given;"]);
    expect(() => codeGroups("```ts no-check\n```")).toThrow('Line 1: found a block "ts no-check"');
    expect(() => codeGroups("```js\n```")).toThrow("Line 1");
  });
});

function groupsOf(page: string): ReturnType<typeof codeGroups> {
  try {
    return codeGroups(readFileSync(repository + page, "utf8"));
  } catch (error) {
    throw new Error(`${page}: ${String(error)}`, { cause: error });
  }
}
