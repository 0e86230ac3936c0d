import fs, { mkdirSync, symlinkSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { FoundFile } from "../../../src/workspace/files/readFile.ts";
import { WorkspaceFiles } from "../../../src/workspace/files/WorkspaceFiles.ts";
import { put } from "../Shell.ts";
import { temporaryFolder } from "../fixture.ts";

async function lookAtAll(files: WorkspaceFiles, paths: readonly string[]): Promise<ReadonlyMap<string, FoundFile>> {
  const found = new Map<string, FoundFile>();
  await files.lookAtAll(paths, (path, entry) => found.set(path, entry));
  return found;
}

it("finds each entry as a single look does", async () => {
  const root = temporaryFolder();
  put(root, {
    top: "1",
    "a/one": "1",
    "a/two": "22",
    "b/empty": "",
    "store/log": "1",
    "a/large": "x".repeat(2_000),
  });
  mkdirSync(join(root, "a/folder"));
  symlinkSync("one", join(root, "a/link"));
  symlinkSync("a", join(root, "linked"));
  const files = new WorkspaceFiles(root, 1_000);
  files.close("store");
  const names = ["one", "two", "large", "folder", "link", "missing", "n".repeat(300)];
  const others = ["top", "b/empty", "linked/one", "gone/deep/file", "top/file", "store", "store/log"];
  const paths = [...others, ...names.map((name) => `a/${name}`)];
  const found = await lookAtAll(files, paths);
  expect(found.size).toBe(paths.length);
  for (const path of paths) expect([path, found.get(path)]).toEqual([path, await files.look(path)]);
  const kinds = paths.map(
    (path) => `${path.slice(0, 12)} ${found.get(path)?.kind} ${found.get(path)?.unreachable ?? ""}`,
  );
  expect(kinds).toMatchInlineSnapshot(`
    [
      "top file ",
      "b/empty file ",
      "linked/one other may not be used: it leads through a link",
      "gone/deep/fi missing ",
      "top/file missing is not in a folder: a part of its path is a file",
      "store other may not be used: it leads into the folder of the storage",
      "store/log other may not be used: it leads into the folder of the storage",
      "a/one file ",
      "a/two file ",
      "a/large other ",
      "a/folder other ",
      "a/link link ",
      "a/missing missing ",
      "a/nnnnnnnnnn other has a name that is too long",
    ]
  `);
});

it("opens each directory once", async () => {
  const root = temporaryFolder();
  put(root, { "a/one": "1", "a/two": "2", "b/three": "3" });
  const opened: string[] = [];
  const original = fs.openSync;
  fs.openSync = (path, ...rest) => {
    opened.push(String(path));
    return original(path, ...rest);
  };
  syncBuiltinESMExports();
  try {
    await lookAtAll(new WorkspaceFiles(root, 1_000), ["a/one", "b/three", "a/two"]);
  } finally {
    fs.openSync = original;
    syncBuiltinESMExports();
  }
  expect(opened.filter((path) => path.endsWith("/a"))).toHaveLength(1);
  expect(opened.filter((path) => path.endsWith("/b"))).toHaveLength(1);
});
