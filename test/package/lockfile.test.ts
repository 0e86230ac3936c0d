import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { repository } from "./compile.ts";

it.each([
  "package-lock.json",
  "test/bench/package-lock.json",
  "docs/.site/package-lock.json",
  "test/package/platforms/package-lock.json",
  "test/package/platforms/next/package-lock.json",
])("%s names no registry, so that any mirror works", (path) => {
  expect(readFileSync(repository + path, "utf8")).not.toMatch(/"resolved": "http/);
});
