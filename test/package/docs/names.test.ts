import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { repository } from "../compile.ts";

/**
 * docs/names.md maps every name of the two designs to ours, in tables "| design | ours | where |". `where` holds one or
 * more of a path in backticks, from the root of the repository, with an optional "#symbol" that the file must contain
 * as a whole word: "`src/agent/AIAgent.ts#install`".
 */
interface Row {
  readonly design: string;
  readonly ours: string;
  readonly where: string;
}

describe("names", () => {
  const rows = rowsOf(readFileSync(`${repository}docs/names.md`, "utf8"));

  it("docs/names.md has rows", () => {
    expect(rows.length).toBeGreaterThan(20);
  });

  it("docs/names.md names only existing files and symbols", () => {
    expect(rows.flatMap(problemsOf)).toEqual([]);
  });
});

function rowsOf(markdown: string): Row[] {
  const cells = markdown
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  return cells
    .filter(([design = ""]) => design !== "design" && !/^:?-+:?$/.test(design))
    .map(([design = "", ours = "", where = ""]) => ({ design, ours, where }));
}

function problemsOf({ design, ours, where }: Row): string[] {
  const places = [...where.matchAll(/`([^`#]+)(?:#([^`]+))?`/g)];
  if (places.length === 0) return [`${design}: the column "where" of ${ours} holds no path in backticks`];
  return places.flatMap(([, path = "", symbol]) => {
    if (!existsSync(repository + path)) return [`${design}: there is no ${path}`];
    if (symbol === undefined) return [];
    const words = readFileSync(repository + path, "utf8").split(/[^\w$]+/);
    return words.includes(symbol) ? [] : [`${design}: ${path} holds no ${symbol}`];
  });
}
