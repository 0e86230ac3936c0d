import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { Workspace } from "agent-persistence/workspace";
import { describe, expect, it } from "vitest";
import { checkDrift } from "../../../src/workspace/drift/checkDrift.ts";
import { WorkspaceFiles } from "../../../src/workspace/files/WorkspaceFiles.ts";
import { commitFiles } from "../../../src/workspace/git/commitFiles.ts";
import { GitRepository } from "../../../src/workspace/git/GitRepository.ts";
import { gitEnvironment } from "../../../src/workspace/git/runGit.ts";
import { commitMessagesAbout, commitOf, messagesAbout } from "../../../src/workspace/git/history.ts";
import { temporaryFolder } from "../fixture.ts";
import { rebaseIfSafe } from "../../../src/workspace/rebase/rebaseIfSafe.ts";
import { hostileRepository } from "./hostileRepository.ts";
import { lines, TestRepository } from "./repositories.ts";

describe("an untrusted repository", () => {
  it("a hostile repository runs no program in a check for drift", async () => {
    const { repository, fired } = hostileRepository();
    const report = await checkDrift({ files: new WorkspaceFiles(repository.root, 1e6) });
    expect(report).toMatchObject({
      commitsBehind: 1,
      severity: "medium",
      conflictingFiles: ["a.txt"],
      localFiles: [".gitattributes", "a.txt"],
    });
    expect(fired()).toEqual([]);
  });

  it("a hostile repository runs no program in a commit and a rebase", async () => {
    const { repository, fired } = hostileRepository();
    repository.write("a.txt", lines());
    const author = { name: "Agent", email: "agent@example.com" };
    await commitFiles(repository.root, { message: "x", paths: [".gitattributes"], author });
    const conditions = { test: () => true, permission: () => true, committer: author };
    const result = await rebaseIfSafe({ root: repository.root, enabled: true, ...conditions });
    expect(result).toMatchObject({ rebased: true });
    expect(fired()).toEqual([]);
    expect(readFileSync(join(repository.root, "a.txt"), "utf8")).toBe(lines({ 3: "theirs" }));
  });

  it("a hostile repository runs no program in a scan for captures", async () => {
    const { repository, fired } = hostileRepository();
    repository.write("packages/app/b", "1");
    for (const root of [repository.root, join(repository.root, "packages/app")])
      expect((await new Workspace({ root }).scan()).files).toBeGreaterThan(0);
    expect(fired()).toEqual([]);
  });

  it("a hostile repository runs no program when its history is read", async () => {
    const { repository, fired } = hostileRepository();
    expect(await commitMessagesAbout(repository.root, "a.txt")).toEqual(["Theirs"]);
    expect(await commitMessagesAbout(repository.root, "b.txt")).toEqual([]);
    expect(fired()).toEqual([]);
  });

  it("git doesn't interpret a hostile name as an option or an expression", async () => {
    const { root } = hostileRepository().repository;
    const target = join(temporaryFolder(), "written");
    const names = [
      `--output=${target}`,
      "-evil",
      "a..b",
      "HEAD~1",
      "@{-1}",
      ":/text",
      "",
      "a b",
      "refs/heads/",
      "x.lock",
    ];
    await GitRepository.with(root, async (git) => {
      for (const name of names) await expect(commitOf(git, name)).rejects.toMatchObject({ code: "git_failed" });
      await expect(messagesAbout(git, "--all", "HEAD", "a.txt")).rejects.toMatchObject({ code: "git_failed" });
    });
    expect(existsSync(target)).toBe(false);
  });

  it("a git executable inside the repository is not run, for any PATH", async () => {
    const repository = TestRepository.create();
    repository.commit({ "a.txt": "a" });
    const mark = join(temporaryFolder(), "ran");
    const bin = join(repository.root, "node_modules/.bin");
    const outside = temporaryFolder();
    repository.write("node_modules/.bin/git", `#!/bin/sh\n: > "${mark}"\n`);
    chmodSync(join(bin, "git"), 0o755);
    symlinkSync(join(bin, "git"), join(outside, "git"));
    const path = process.env["PATH"];
    process.env["PATH"] = [
      bin,
      outside,
      "node_modules/.bin",
      `${repository.root}/../${basename(repository.root)}`,
      path,
    ].join(":");
    try {
      await checkDrift({ files: new WorkspaceFiles(repository.root, 1e6) });
      const part = join(repository.root, "node_modules");
      await checkDrift({ files: new WorkspaceFiles(part, 1e6) });
      process.env["PATH"] = bin;
      const other = join(repository.root, "node_modules/.bin");
      await expect(checkDrift({ files: new WorkspaceFiles(other, 1e6) })).rejects.toMatchObject({
        code: "git_failed",
        reason: expect.stringContaining("outside the repository") as string,
      });
    } finally {
      process.env["PATH"] = path;
    }
    expect(existsSync(mark)).toBe(false);
  });

  it.each<[string, (repository: TestRepository) => string]>([
    [
      "in a linked work tree",
      (repository) => {
        const folder = join(temporaryFolder(), "linked");
        repository.git("worktree", "add", "--quiet", folder);
        return folder;
      },
    ],
    [
      "in a repository within it",
      (repository) => {
        const inner = new TestRepository(join(repository.root, "inner"));
        inner.write("a.txt", "a");
        inner.git("init", "--quiet", "--initial-branch=main");
        inner.commit({});
        return inner.root;
      },
    ],
    [
      "with a submodule",
      (repository) => {
        const other = TestRepository.create();
        other.commit({ "a.txt": "a" });
        repository.git("-c", "protocol.file.allow=always", "submodule", "add", "--quiet", other.root, "sub");
        repository.commit({});
        return repository.root;
      },
    ],
  ])("a git executable inside the repository is not run %s", async (_name, place) => {
    const repository = TestRepository.create();
    repository.commit({ "a.txt": "a" });
    const folder = place(repository);
    const mark = join(temporaryFolder(), "ran");
    const bin = join(repository.root, "node_modules/.bin");
    repository.write("node_modules/.bin/git", `#!/bin/sh\n: > "${mark}"\n`);
    chmodSync(join(bin, "git"), 0o755);
    const path = process.env["PATH"];
    process.env["PATH"] = `${bin}:${path}`;
    try {
      await checkDrift({ files: new WorkspaceFiles(folder, 1e6) });
    } finally {
      process.env["PATH"] = path;
    }
    expect(existsSync(mark)).toBe(false);
  });

  it.each([".git/HEAD", ".git/index", ".git/config", ".git/commondir", ".git/packed-refs", ".git"])(
    "a pipe instead of %s is refused without waiting",
    async (name) => {
      const repository = TestRepository.create();
      repository.commit({ "a.txt": "a" });
      rmSync(join(repository.root, name), { recursive: true, force: true });
      execFileSync("mkfifo", [join(repository.root, name)]);
      await expect(checkDrift({ files: new WorkspaceFiles(repository.root, 1e6) })).rejects.toMatchObject({
        code: "git_failed",
        reason: expect.stringContaining("is not a file") as string,
      });
    },
  );

  it("git runs without the caller's environment", () => {
    const environment = gitEnvironment(
      {
        GIT_DIR: "/x",
        GIT_CONFIG_COUNT: "1",
        GIT_EXTERNAL_DIFF: "/evil",
        GIT_SSH_COMMAND: "/evil",
        LD_PRELOAD: "/evil.so",
        HOME: "/home/user",
      },
      "/usr/bin:/bin",
    );
    expect(environment["PATH"]).toBe("/usr/bin:/bin");
    expect(Object.values(environment).join()).not.toMatch(/evil|home/);
    expect(environment["GIT_DIR"]).toBeUndefined();
  });

  it("the error for a directory that is not a repository names it", async () => {
    const opening = GitRepository.with(temporaryFolder(), () => Promise.resolve(0));
    await expect(opening).rejects.toMatchObject({ code: "git_failed", command: "rev-parse" });
  });
});
