import { expect, it } from "vitest";
import { KnownFiles } from "../../../src/workspace/capture/scanFolder.ts";
import type { ScannedFile } from "../../../src/workspace/capture/Scan.ts";

const stamp = { size: 1, mtimeMs: 1, ctimeMs: 1, mode: 0, ino: 1, birthtimeMs: 1, nlink: 1 };

it.each([
  ["the same order", ["a", "b/c", "b/d", "e"]],
  ["another order", ["e", "b/d", "a", "b/c"]],
  ["removed files", ["b/d", "e"]],
  ["new files", ["0", "a", "b", "b/c", "b/cc", "c", "b/d", "e", "f"]],
])("finds each file of the previous scan with %s", (_name, paths) => {
  const files = new Map(
    ["a", "b/c", "b/d", "e"].map((path): [string, ScannedFile] => [path, { stamp, settled: true }]),
  );
  const known = new KnownFiles(files);
  for (const path of paths) {
    const end = path.lastIndexOf("/") + 1;
    const found = known.find(path.slice(0, end), path.slice(end));
    expect(found?.[1]).toBe(files.get(path));
    expect(found?.[0]).toBe(files.has(path) ? path : undefined);
  }
});
