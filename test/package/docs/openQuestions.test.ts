import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { repository } from "../compile.ts";
import { problemsOf, testsIn } from "./namedTests.ts";

describe("open questions", () => {
  const page = readFileSync(`${repository}docs/decisions/0033-open-questions.md`, "utf8");
  const answers = page.split("\n").filter((line) => /^\| \d+ \|/.test(line));

  it("the answers to the design's open questions are fifteen, each with a test", () => {
    expect(answers).toHaveLength(15);
    expect(answers.filter((answer) => testsIn(answer).length === 0)).toEqual([]);
  });

  it("the answers to the design's open questions name only tests that exist", () => {
    expect(testsIn(page).flatMap(problemsOf)).toEqual([]);
  });
});
