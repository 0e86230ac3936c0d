import fs, {
  chmodSync,
  lstatSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { AIAgent, Persistence, persistence } from "agent-persistence";
import { crashAfter, scriptedModel } from "agent-persistence/testing";
import { Workspace } from "agent-persistence/workspace";
import { logStorages } from "../../persistence/support/storages.ts";
import { put, Shell, steps } from "../Shell.ts";
import { temporaryFolder, treeOf } from "../fixture.ts";

it("a change within the second of the last one is found on a file system that stores whole seconds", async () => {
  const root = temporaryFolder();
  put(root, { f: "1" });
  const changedAt = 1_700_000_000_000;
  const lstat = fs.lstatSync;
  const original = { lstatSync: lstat };
  const coarse = (...given: Parameters<typeof lstat>) => {
    const found = lstat(...given);
    return found?.isFile() ? Object.assign(found, { ctimeMs: changedAt, mtimeMs: changedAt, ino: 1 }) : found;
  };
  vi.spyOn(Date, "now").mockReturnValue(changedAt + 900);
  Object.assign(fs, { lstatSync: coarse });
  syncBuiltinESMExports();
  try {
    const shell = new Shell(root, [() => put(root, { f: "2" }), () => put(root, { f: "3" })]);
    await shell.run();
    await shell.rollBack(0);
  } finally {
    Object.assign(fs, original);
    syncBuiltinESMExports();
    vi.restoreAllMocks();
  }
  expect(treeOf(root)).toEqual({ f: "644 1" });
});

describe.each(logStorages)("captured commands, $name", ({ open }) => {
  it("a captured command is reverted step by step and byte for byte", async () => {
    const root = temporaryFolder();
    put(root, { "a.txt": "a", "b.bin": Buffer.from([0, 255]), "dir/c": "c", "dir/run": "#!", empty: "" });
    chmodSync(join(root, "dir/run"), 0o755);
    symlinkSync("a.txt", join(root, "link"));
    const start = treeOf(root);
    const shell = new Shell(
      root,
      [
        () => put(root, { "a.txt": "b", "new/deep/x": "x", "b.bin": Buffer.from([255, 0, 10]) }),
        () => {
          rmSync(join(root, "empty"));
          renameSync(join(root, "dir"), join(root, "moved"));
          chmodSync(join(root, "a.txt"), 0o600);
        },
        () => {
          rmSync(join(root, "link"));
          symlinkSync("elsewhere", join(root, "link"));
          rmSync(join(root, "new"), { recursive: true });
          writeFileSync(join(root, "new"), "a file now");
        },
      ],
      { storage: (await open())() },
    );
    await shell.run();
    const { saved } = shell.build();
    const changed = (await saved.getCheckpoints({ nodeId: "callModel" })).map(({ fileChanges }) =>
      Object.values(fileChanges).map((list: readonly { readonly path: string }[]) => list.map(({ path }) => path)),
    );
    expect(changed.slice(1)).toEqual([
      [["a.txt", "b.bin"], ["new/deep/x"], []],
      [["a.txt"], ["moved/c", "moved/run"], ["dir/c", "dir/run", "empty"]],
      [["link"], ["new"], ["new/deep/x"]],
    ]);
    await shell.rollBack(1);
    expect(treeOf(root)).toMatchObject({
      "a.txt": "644 b",
      "new/deep/x": "644 x",
      "dir/run": "755 #!",
      link: "link to a.txt",
    });
    await shell.rollBack(0);
    expect(treeOf(root)).toEqual(start);
  });
});

describe("a capture", () => {
  it("a capture records the changes of a failed command and rethrows its error", async () => {
    const root = temporaryFolder();
    put(root, { a: "1" });
    const shell = new Shell(root, [
      () => {
        put(root, { a: "2" });
        throw new RangeError("it failed");
      },
    ]);
    await shell.run();
    expect(readFileSync(join(root, "a"), "utf8")).toBe("2");
    await shell.rollBack(0);
    expect(readFileSync(join(root, "a"), "utf8")).toBe("1");
  });

  it("a capture ignores changes of others between two captures", async () => {
    const root = temporaryFolder();
    put(root, { a: "1", b: "1" });
    const shell = new Shell(root, [() => put(root, { a: "2" }), () => put(root, { c: "1" })]);
    await shell
      .build(crashAfter(shell.storage, 6))
      .agent.run("go")
      .catch(() => undefined);
    put(root, { b: "a person's" });
    await shell
      .build()
      .agent.run("go")
      .catch(() => undefined);
    await shell.rollBack(0);
    expect(treeOf(root)).toEqual({ a: "644 1", b: "644 a person's" });
  });

  it("a capture detects a change that keeps size and times", async () => {
    const root = temporaryFolder();
    put(root, { a: "1" });
    const then = new Date(2020, 1);
    utimesSync(join(root, "a"), then, then);
    const shell = new Shell(root, [
      () => {
        put(root, { a: "2" });
        utimesSync(join(root, "a"), then, then);
      },
      () => put(root, { a: "3" }),
      () => put(root, { a: "4" }),
    ]);
    await shell.run();
    await shell.rollBack(2);
    expect(readFileSync(join(root, "a"), "utf8")).toBe("3");
    await shell.rollBack(0);
    expect(readFileSync(join(root, "a"), "utf8")).toBe("1");
  });

  it("a capture skips ignored paths, by .gitignore or option, and the storage directory", async () => {
    const root = temporaryFolder();
    const ignored = {
      "node_modules/x/index.js": "1",
      "sub/build/out": "1",
      "sub/a.log": "1",
      ".git/config": "1",
      ".agent-persistence/tasks/x": "1",
      "own/secret": "1",
    };
    const kept = { "sub/keep.log": "1", "sub/inner/a.log2": "1", "own/public": "1", "Build/x": "1", "wanted.tmp": "1" };
    put(root, {
      ".gitignore": "node_modules/\n*.log\nbuild\n*.tmp\n",
      "sub/.gitignore": "!keep.log\n/build\n",
      ...ignored,
      ...kept,
    });
    const outside = temporaryFolder();
    put(outside, { file: "1" });
    symlinkSync(outside, join(root, "way"));
    const shell = new Shell(
      root,
      [() => put(root, Object.fromEntries(Object.keys({ ...ignored, ...kept }).map((path) => [path, "2"])))],
      {
        ignore: ["own/secret", "!wanted.tmp"],
      },
    );
    const { workspace } = shell.build();
    expect(await workspace.scan()).toEqual({ files: 8, bytes: expect.any(Number) as number, leftOut: [] });
    await shell.run();
    expect(steps(await shell.rollBack(0)).length).toBe(Object.keys(kept).length);
    const contents = (paths: object) => Object.keys(paths).map((path) => readFileSync(join(root, path), "utf8"));
    expect(contents(ignored)).toEqual(Object.values(ignored).map(() => "2"));
    expect(contents(kept)).toEqual(Object.values(kept));
  });

  it("a scan lists the uncaptured files, and a rollback reports changes to them", async () => {
    const root = temporaryFolder();
    put(root, { big: "x".repeat(101), large: "x".repeat(102), small: "1" });
    const shell = new Shell(root, [() => put(root, { big: "y".repeat(101), small: "2" })], { maximumFileBytes: 100 });
    const { workspace } = shell.build();
    const reason = (bytes: number) => `has ${bytes} bytes, and the workspace keeps files of at most 100`;
    expect(await workspace.scan()).toEqual({
      files: 1,
      bytes: 1,
      leftOut: [
        { path: "big", reason: reason(101) },
        { path: "large", reason: reason(102) },
      ],
    });
    await shell.run();
    expect(steps(await shell.rollBack(0))).toEqual([
      { subject: "small", change: "write" },
      { subject: "big", change: `not restored: ${reason(101)}` },
    ]);
  });

  it("a rollback without the workspace lists the captured files as not restored", async () => {
    const root = temporaryFolder();
    put(root, { a: "old" });
    const shell = new Shell(root, [() => put(root, { a: "new", b: "new" })]);
    await shell.run();
    const { storage } = shell;
    const without = new AIAgent({ id: "shell", llmModel: "m", promptExecutor: scriptedModel([]) });
    without.install(Persistence, { storage });
    const report = await persistence(without).agent().rollbackToCheckpoint("1-1");
    const change = "not restored: the participant is missing";
    expect(report.participants).toEqual([{ key: "files", steps: ["a", "b"].map((subject) => ({ subject, change })) }]);
    expect(treeOf(root)).toMatchObject({ a: "644 new", b: "644 new" });
  });

  it("a scan of a missing directory names it", async () => {
    const root = join(temporaryFolder(), "missing");
    await expect(new Workspace({ root }).scan()).rejects.toThrow(`the root ${JSON.stringify(root)} does not exist`);
  });

  it("a capture stores at most maximumFiles files", async () => {
    const root = temporaryFolder();
    put(root, { a: "1", b: "1", c: "1" });
    const { leftOut } = await new Shell(root, [], { maximumFiles: 2 }).build().workspace.scan();
    expect(leftOut).toEqual([{ path: "c", reason: "exceeds the limit of 2 stored files" }]);
  });

  it("a capture stores each content once, and later captures only changes", async () => {
    const root = temporaryFolder();
    put(root, Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`f${at}`, `content ${at}`])));
    const shell = new Shell(root, [
      () => put(root, { f1: "changed" }),
      () => put(root, { f2: "changed", f3: "content 4" }),
    ]);
    await shell.run();
    const packed: string[] = [];
    for await (const { records } of shell.storage.log.read("shell"))
      for (const record of records as readonly {
        readonly key?: string;
        readonly value?: { readonly began?: string };
        readonly packs?: readonly { readonly contents: [string, number][] }[];
      }[])
        // A capture that begins stores its scan with its note.
        for (const { contents } of record.value?.began === undefined ? (record.packs ?? []) : [])
          packed.push(...contents.map(([hash]) => hash));
    expect([packed.length, new Set(packed).size]).toEqual([21, 21]);
    expect(lstatSync(root).isDirectory()).toBe(true);
  });
});
