import { chmodSync, linkSync, lstatSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { fileSystemTime } from "../../../src/workspace/capture/fileSystemTime.ts";
import { temporaryFolder, treeOf } from "../fixture.ts";
import { put, Shell, steps } from "../Shell.ts";

/** Runs commands of the agent in captures, and rolls back to before the first. */
async function ranAndRolledBack(
  root: string,
  work: readonly (() => void)[],
  options: ConstructorParameters<typeof Shell>[2] = {},
) {
  const shell = new Shell(root, work, options);
  await shell.run();
  return steps(await shell.rollBack(0));
}

const wasThere = "not restored: existed before under another name, and its content was not stored";

it("a deleted repository is reported, and the files of its work tree are restored", async () => {
  const root = temporaryFolder();
  put(root, { "sub/.git/HEAD": "ref: refs/heads/main", "sub/a": "1", "kept/.git/HEAD": "ref: refs/heads/main" });
  const remove = () => {
    rmSync(join(root, "sub"), { recursive: true });
    put(root, { "kept/.git/index": "" });
  };
  expect(await ranAndRolledBack(root, [remove])).toEqual([
    { subject: "sub", change: "restore folder" },
    { subject: "sub/a", change: "write" },
    { subject: "sub/.git", change: "not restored: was deleted or moved, and repositories are not stored" },
  ]);
  expect(treeOf(root)).toMatchObject({ "sub/a": "644 1", "kept/.git/HEAD": expect.anything() as unknown });
});

describe("uncaptured files that a command moves", () => {
  const latin = (root: string) => Buffer.concat([Buffer.from(`${root}/caf`), Buffer.from([0xe9])]);

  it.each<[string, (root: string) => void, (root: string) => void, string, string]>([
    [
      "an ignored file",
      (root) => put(root, { ".gitignore": ".env\n", ".env": "key" }),
      (root) => renameSync(join(root, ".env"), join(root, "env.txt")),
      "env.txt",
      "env.txt",
    ],
    [
      "an ignored directory",
      (root) => put(root, { ".gitignore": "dist\n", "dist/deep/app": "key" }),
      (root) => {
        renameSync(join(root, "dist"), join(root, "release"));
        put(root, { "release/new": "made" });
      },
      "release/deep/app",
      "release",
    ],
    [
      "a repository",
      (root) => put(root, { ".git/objects/a": "key" }),
      (root) => renameSync(join(root, ".git"), join(root, "git-backup")),
      "git-backup/objects/a",
      "git-backup",
    ],
    [
      "a name that is not UTF-8",
      (root) => writeFileSync(latin(root), "key"),
      (root) => renameSync(latin(root), join(root, "cafe")),
      "cafe",
      "cafe",
    ],
    [
      "a file that is too large",
      (root) => put(root, { large: "key".padEnd(2_000) }),
      (root) => {
        renameSync(join(root, "large"), join(root, "small"));
        put(root, { small: "key" });
      },
      "small",
      "small",
    ],
    [
      "an ignored file that replaces a captured one",
      (root) => put(root, { ".gitignore": ".env\n", ".env": "key", config: "old" }),
      (root) => renameSync(join(root, ".env"), join(root, "config")),
      "config",
      "config",
    ],
  ])("%s stays where it is and is reported", async (_name, start, command, path, subject) => {
    const root = temporaryFolder();
    start(root);
    const report = await ranAndRolledBack(root, [() => command(root)], { maximumFileBytes: 1_000 });
    expect(treeOf(root)[path]).toMatch(/^644 key/);
    expect(report).toContainEqual({ subject, change: wasThere });
  });

  it.each<[string, string, (root: string, outside: string) => void]>([
    ["a file from an ignored directory", "app", (root) => renameSync(join(root, "dist/v1/app"), join(root, "app"))],
    ["a directory from an ignored one", "new/app", (root) => renameSync(join(root, "dist/v1"), join(root, "new"))],
    ["over a captured file", "kept", (root) => renameSync(join(root, "dist/v1/app"), join(root, "kept"))],
    ["out of the repository", "note", (root) => renameSync(join(root, ".git/note"), join(root, "note"))],
    ["from outside", "file", (root, outside) => renameSync(join(outside, "file"), join(root, "file"))],
  ])("an older uncaptured path stays where the command moved it: %s", async (_name, path, command) => {
    const [root, outside] = [temporaryFolder(), temporaryFolder()];
    put(root, { ".gitignore": "dist\n", "dist/v1/app": "key", ".git/note": "key", kept: "1" });
    put(outside, { file: "key" });
    const { mtimeMs } = lstatSync(join(outside, "file"));
    const shell = new Shell(root, [() => command(root, outside)]);
    await vi.waitUntil(() => fileSystemTime(root) > mtimeMs, 600_000);
    await shell.run();
    const report = steps(await shell.rollBack(0));
    expect(treeOf(root)[path]).toBe("644 key");
    expect(report).toContainEqual({ subject: path.split("/")[0], change: wasThere });
  });

  it("a moved directory without captured files is not restored", async () => {
    const root = temporaryFolder();
    put(root, { ".gitignore": "dist\n", "dist/app": "key" });
    const shell = new Shell(root, [() => renameSync(join(root, "dist"), join(root, "release"))]);
    await shell.run();
    rmSync(join(root, "release"), { recursive: true });
    expect(steps(await shell.rollBack(0))).toEqual([{ subject: "release", change: wasThere }]);
  });

  it("a file that an uncaptured one replaced is left, and the others are restored", async () => {
    const root = temporaryFolder();
    put(root, { ".gitignore": ".env\n", ".env": "key", f: "1", other: "1" });
    const work = [() => put(root, { f: "2", other: "2" }), () => renameSync(join(root, ".env"), join(root, "f"))];
    const report = await ranAndRolledBack(root, work);
    expect(treeOf(root)).toEqual({ ".gitignore": "644 .env\n", f: "644 key", other: "644 1" });
    expect(report).toContainEqual({ subject: "f", change: wasThere });
  });

  it("a hard link to a file elsewhere counts as a file of the agent", async () => {
    const [root, store] = [temporaryFolder(), temporaryFolder()];
    put(store, { file: "1" });
    const { mtimeMs } = lstatSync(join(store, "file"));
    await vi.waitUntil(() => fileSystemTime(root) > mtimeMs, 600_000);
    await ranAndRolledBack(root, [() => linkSync(join(store, "file"), join(root, "file"))]);
    expect([treeOf(root), treeOf(store)]).toEqual([{}, { file: "644 1" }]);
  });

  it("a file beyond maximumFiles stays", async () => {
    const root = temporaryFolder();
    put(root, { a1: "1", a2: "2", z: "key" });
    await ranAndRolledBack(root, [() => renameSync(join(root, "z"), join(root, "a0"))], { maximumFiles: 2 });
    expect(treeOf(root)).toEqual({ a0: "644 key", a1: "644 1", a2: "644 2" });
  });

  it("a file that reuses the inode of an ignored one counts as a file of the agent", async () => {
    const root = temporaryFolder();
    put(root, { ".gitignore": ".env\n", ".env": "key" });
    const command = () => {
      rmSync(join(root, ".env"));
      put(root, { made: "1" });
    };
    await ranAndRolledBack(root, [command]);
    expect(Object.keys(treeOf(root))).toEqual([".gitignore"]);
  });
});

it("the time of a file system is read from a temporary file and matches its files", () => {
  const root = temporaryFolder();
  put(root, { before: "1" });
  const time = fileSystemTime(root);
  put(root, { after: "1" });
  const [before, after] = ["before", "after"].map((name) => lstatSync(join(root, name)).mtimeMs);
  expect(before).toBeLessThanOrEqual(time);
  expect(time).toBeLessThanOrEqual(after ?? 0);
  expect(Object.keys(treeOf(root))).toEqual(["after", "before"]);
  expect(fileSystemTime(join(root, "missing"))).toBe(0);
});

describe("an ignore rule that a command adds", () => {
  it.each<[string, (root: string) => readonly (() => void)[]]>([
    [
      "in a separate command",
      (root) => [
        () => put(root, { ".gitignore": "*.log\nbuild\n" }),
        () => put(root, { "a.log": "2", "build/x": "2" }),
      ],
    ],
    [
      "and is removed again",
      (root) => [
        () => put(root, { ".gitignore": "*.log\nbuild\n" }),
        () => {
          rmSync(join(root, ".gitignore"));
          put(root, { "a.log": "2", "build/x": "2" });
        },
      ],
    ],
    [
      "between two changes",
      (root) => [
        () => put(root, { "a.log": "2", "build/x": "2" }),
        () => put(root, { ".gitignore": "*.log\nbuild\n", "a.log": "3", "build/x": "3" }),
        () => put(root, { "a.log": "4", "build/x": "4" }),
      ],
    ],
  ])("hides no change of a previously scanned file: %s", async (_name, work) => {
    const root = temporaryFolder();
    put(root, { "a.log": "1", "build/x": "1" });
    const before = treeOf(root);
    await ranAndRolledBack(root, work(root));
    expect(treeOf(root)).toEqual(before);
  });

  it("and removes later doesn't prevent the restore of earlier changes", async () => {
    const root = temporaryFolder();
    put(root, { "build/x": "1", other: "1" });
    const work = [
      () => put(root, { "build/x": "2" }),
      () => put(root, { ".gitignore": "build\n", "build/y": "hidden" }),
      () => {
        rmSync(join(root, ".gitignore"));
        put(root, { other: "2" });
      },
    ];
    await ranAndRolledBack(root, work);
    expect(treeOf(root)).toMatchObject({ "build/x": "644 1", "build/y": "644 hidden", other: "644 1" });
  });

  it("or that somebody else adds doesn't hide a deletion", async () => {
    const root = temporaryFolder();
    put(root, { "build/x": "1", "build/y": "2" });
    const shell = new Shell(root, [() => put(root, { "build/x": "agent" }), () => rmSync(join(root, "build/y"))], {
      before: (at) => at === 1 && put(root, { ".gitignore": "build\n" }),
    });
    await shell.run();
    await shell.rollBack(0);
    expect(treeOf(root)).toMatchObject({ "build/x": "644 1", "build/y": "644 2" });
  });

  it("doesn't hide the deletion of a file that was scanned before", async () => {
    const root = temporaryFolder();
    put(root, { "build/x": "1", "build/y": "2" });
    const before = treeOf(root);
    const work = [
      () => put(root, { "build/x": "agent" }),
      () => {
        put(root, { ".gitignore": "build\n" });
        rmSync(join(root, "build/x"));
      },
    ];
    await ranAndRolledBack(root, work);
    expect(treeOf(root)).toEqual(before);
  });
});

describe("directories", () => {
  const modeOf = (root: string, path: string) => (lstatSync(join(root, path)).mode & 0o7777).toString(8);

  it("a rollback doesn't restore permissions, and reports this, if others set them between two changes of the agent", async () => {
    const root = temporaryFolder();
    put(root, { "d/a": "1" });
    const shell = new Shell(root, [() => chmodSync(join(root, "d"), 0o700), () => chmodSync(join(root, "d"), 0o750)], {
      before: (at) => at === 1 && chmodSync(join(root, "d"), 0o711),
    });
    await shell.run();
    const report = await shell.rollBack(0);
    expect(modeOf(root, "d")).toBe("750");
    expect(steps(report)).toEqual([{ subject: "d", change: "not restored: has permissions that others changed" }]);
  });

  it("a private directory that the agent recreates is private after a rollback", async () => {
    const root = temporaryFolder();
    for (const name of ["a", "b"]) {
      mkdirSync(join(root, name));
      chmodSync(join(root, name), 0o700);
    }
    const work = [
      () => {
        for (const name of ["a", "b"]) rmSync(join(root, name), { recursive: true });
      },
      () => {
        put(root, { "a/x": "1" });
        mkdirSync(join(root, "b"));
        chmodSync(join(root, "b"), 0o777);
      },
    ];
    await ranAndRolledBack(root, work);
    expect([modeOf(root, "a"), modeOf(root, "b")]).toEqual(["700", "700"]);
  });

  it("setgid and sticky bits of directories are restored", async () => {
    const root = temporaryFolder();
    for (const [path, mode] of [
      ["removed", 0o2775],
      ["changed", 0o1777],
    ] as const) {
      mkdirSync(join(root, path));
      chmodSync(join(root, path), mode);
    }
    const command = () => {
      rmSync(join(root, "removed"), { recursive: true });
      chmodSync(join(root, "changed"), 0o700);
    };
    await ranAndRolledBack(root, [command]);
    expect([modeOf(root, "removed"), modeOf(root, "changed")]).toEqual(["2775", "1777"]);
  });

  it("a directory that the agent replaced by a file and recreated is restored without a conflict", async () => {
    const root = temporaryFolder();
    put(root, { "a/b": "1" });
    const before = treeOf(root);
    const work = [
      () => {
        rmSync(join(root, "a"), { recursive: true });
        put(root, { a: "a file" });
      },
      () => {
        rmSync(join(root, "a"));
        put(root, { "a/b": "3", "a/c": "c" });
      },
    ];
    await ranAndRolledBack(root, work);
    expect(treeOf(root)).toEqual(before);
  });
});
