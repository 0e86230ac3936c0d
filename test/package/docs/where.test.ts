import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { repository } from "../compile.ts";

it("docs/where.md names only existing files and directories of src", () => {
  const rows = readFileSync(`${repository}docs/where.md`, "utf8")
    .split("\n")
    .filter((line) => line.startsWith("| ") && !line.startsWith("| change |"));
  const paths = rows.flatMap((row) =>
    [...(row.split(" | ")[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, path = ""]) => path),
  );
  expect(paths.length).toBeGreaterThan(60);
  expect(paths.filter((path) => !existsSync(`${repository}src/${path}`) && !existsSync(repository + path))).toEqual([]);
});
