import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { basename, dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { temporaryFolder, treeOf } from "../fixture.ts";
import { put, Shell, steps } from "../Shell.ts";

type Call = (...given: unknown[]) => unknown;

/** Finds entries without regard to case, as the file systems of macOS and Windows do. */
function ignoreCase(): void {
  const { readdirSync, unlinkSync } = fs;
  const functions = fs as unknown as Record<string, Call>;
  const names = [
    "lstatSync",
    "openSync",
    "readlinkSync",
    "unlinkSync",
    "rmdirSync",
    "mkdirSync",
    "renameSync",
  ] as const;
  const originals = names.map((name) => [name, functions[name] as Call] as const);
  onTestFinished(() => {
    Object.assign(fs, Object.fromEntries(originals));
    syncBuiltinESMExports();
  });
  const existing = (path: unknown): unknown => {
    if (typeof path !== "string" || path.endsWith("/.")) return path;
    const entries = fs.existsSync(dirname(path)) ? readdirSync(dirname(path)) : [];
    const found = entries.find((name) => name.toLowerCase() === basename(path).toLowerCase());
    return found === undefined || entries.includes(basename(path)) ? path : join(dirname(path), found);
  };
  for (const [name, original] of originals) functions[name] = (path, ...rest) => original(existing(path), ...rest);
  const rename = originals.at(-1)?.[1];
  functions["renameSync"] = (from, to) => {
    if (existing(to) !== to) unlinkSync(existing(to) as string);
    return rename?.(existing(from), to);
  };
  syncBuiltinESMExports();
}

it("a rollback restores the case of names where the file system ignores case", async () => {
  const root = temporaryFolder();
  put(root, { "Read.me": "read", "Src/a": "1", "Src/Sub/b": "2", other: "old" });
  const before = treeOf(root);
  const rename = (from: string, to: string) => execFileSync("mv", [from, to], { cwd: root });
  const shell = new Shell(root, [
    () => {
      rename("Read.me", "README.md");
      rename("README.md", "read.me");
      rename("Src", "src");
      rename("src/Sub", "src/sub");
      put(root, { other: "new" });
    },
  ]);
  ignoreCase();
  await shell.run();
  const report = await shell.rollBack(0);
  expect(treeOf(root)).toEqual(before);
  expect(steps(report)).not.toContainEqual({ change: expect.stringContaining("not") as string });
});
