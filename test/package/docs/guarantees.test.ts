import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { repository } from "../compile.ts";
import { problemsOf, testsIn } from "./namedTests.ts";

const page = readFileSync(`${repository}docs/guarantees.md`, "utf8");

/** Of each table with the column "checked by", the rows below the head. */
const promises = page
  .split(/\n{2,}/)
  .filter((block) => block.startsWith("| promise |"))
  .flatMap((table) => table.trimEnd().split("\n").slice(2));

describe("guarantees", () => {
  it("docs/guarantees.md makes promises and names at least one test for each", () => {
    expect(promises.length).toBeGreaterThan(12);
    expect(promises.filter((promise) => testsIn(promise).length === 0)).toEqual([]);
  });

  it("docs/guarantees.md names only tests that exist", () => {
    expect(testsIn(page).flatMap(problemsOf)).toEqual([]);
    const files = [...page.matchAll(/`(test\/[^`]+)`/g)].map(([, file = ""]) => file);
    expect(files.filter((file) => !existsSync(repository + file))).toEqual([]);
  });

  it("the check of docs/guarantees.md reports a test that does not exist", () => {
    expect(problemsOf({ file: "test/nowhere.test.ts", title: "x" })).toEqual(["there is no test/nowhere.test.ts"]);
    const file = "test/package/lockfile.test.ts";
    expect(problemsOf({ file, title: "nothing" })).toEqual([`${file} has no test "nothing…"`]);
  });
});
