import fc from "fast-check";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { nodeSha256 } from "../../../../src/internal/sha256/nodeSha256.ts";
import { agentFolderName } from "../../../../src/storage/file/layout/AgentFolder.ts";
import { nodeFileSystem } from "../../../../src/nodejs/nodeFileSystem.ts";
import type { FileSystem } from "../../../../src/nodejs/FileSystem.ts";
import { append, collect, nextOwner, summaryOf, testDirectory, testLog, textsOf } from "../support/fixture.ts";

const hostile = [
  "..",
  ".",
  "../../..",
  "../../etc/passwd",
  "/etc/passwd",
  "C:\\windows",
  "\\\\server\\share",
  "a/b",
  "a\\b",
  "a:b",
  "a\0b",
  "a\nb",
  "~",
  "~root",
  "$HOME",
  "`id`",
  "con",
  "CON",
  "nul",
  "aux.json",
  "com1",
  "lpt9.txt",
  "Run-1",
  "run-1",
  "RUN-1",
  "run-1.",
  "run-1 ",
  " run-1",
  "\u00e9",
  "e\u0301",
  "\ufeffx",
  "x",
  "\u202ex",
  "😀",
  "-rf",
  "--help",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "then",
  "state.json",
  "checkpoints",
  "1.jsonl",
  "tmp",
  "%2e%2e",
  "..%2f",
  "*",
  "?",
  "|",
  "<>",
  '"',
  "'; drop table x; --",
  "x".repeat(255),
  "x".repeat(256),
  "X".repeat(1024),
  "é".repeat(512),
  "a".repeat(60),
  `${"a".repeat(59)}b`,
];

describe("agent ids", () => {
  it("all map to distinct names inside the directory", async () => {
    const directory = await testDirectory();
    const touched = new Set<string>();
    const log = testLog(directory, { fileSystem: recording(touched) });
    for (const [index, id] of hostile.entries()) {
      const owned = await log.open(id, nextOwner());
      await append(owned, String(index), { summary: summaryOf(id, "queued", String(index).padStart(3, "0")) });
      await owned.release();
    }
    for (const [index, id] of hostile.entries()) expect(textsOf(await collect(log.read(id)))).toEqual([String(index)]);
    expect((await collect(log.list())).map(({ agentId }) => agentId)).toEqual(hostile);
    for (const path of touched) expect(path.startsWith(directory)).toBe(true);
    for (const name of await readdir(join(directory, "tasks"))) expect(name).toMatch(/^[a-z0-9-]{40,66}$/);
  });

  it("map to names that every file system distinguishes", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (a, b) => {
        const [nameA, nameB] = [agentFolderName(a, nodeSha256), agentFolderName(b, nodeSha256)];
        expect(nameA).toMatch(/^[a-z0-9][a-z0-9-]{40,65}$/);
        expect(nameA.toLowerCase() === nameB.toLowerCase()).toBe(a === b);
      }),
    );
  });
});

function recording(touched: Set<string>): FileSystem {
  const note =
    <Args extends readonly unknown[], Result>(call: (...args: Args) => Result) =>
    (...args: Args): Result => {
      for (const argument of args) if (typeof argument === "string") touched.add(argument);
      return call(...args);
    };
  const real = nodeFileSystem;
  return {
    create: note((path: string) => real.create(path)),
    readFile: note((path: string, start?: number, length?: number) => real.readFile(path, start, length)),
    // What is above the directory may be looked at.
    stat: (path) => real.stat(path),
    link: note((existing: string, path: string) => real.link(existing, path)),
    rename: note((from: string, to: string) => real.rename(from, to)),
    unlink: note((path: string) => real.unlink(path)),
    readdir: note((path: string) => real.readdir(path)),
    mkdir: note((path: string) => real.mkdir(path)),
    rmdir: note((path: string) => real.rmdir(path)),
    fsyncDir: async () => {},
  };
}
