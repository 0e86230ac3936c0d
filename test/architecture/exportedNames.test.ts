import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const source = new URL("../../src/", import.meta.url).pathname;
const declaration =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:const|let|function\*?|class|interface|type|enum) (\w+)/gm;

it("exports no name from two files of src", () => {
  const files = new Map<string, Set<string>>();
  for (const path of readdirSync(source, { recursive: true, encoding: "utf8" })) {
    if (!/\.tsx?$/.test(path)) continue;
    for (const [, name = ""] of readFileSync(join(source, path), "utf8").matchAll(declaration))
      files.set(name, (files.get(name) ?? new Set()).add(path));
  }
  expect(files.size).toBeGreaterThan(1_000);
  const doubles = [...files].filter(([, paths]) => paths.size > 1).map(([name, paths]) => [name, ...paths].join(" "));
  expect(doubles).toEqual([]);
});
