import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkDrift } from "../../../src/workspace/drift/checkDrift.ts";
import { WorkspaceFiles } from "../../../src/workspace/files/WorkspaceFiles.ts";
import { commitFiles } from "../../../src/workspace/git/commitFiles.ts";
import { gitEnvironment, GitRepository } from "../../../src/workspace/git/GitRepository.ts";
import { commitMessagesAbout, commitOf, messagesAbout } from "../../../src/workspace/git/history.ts";
import { temporaryFolder } from "../fixture.ts";
import { rebaseIfSafe } from "../../../src/workspace/rebase/rebaseIfSafe.ts";
import { hostileRepository } from "./hostileRepository.ts";
import { lines } from "./repositories.ts";

describe("an untrusted repository", () => {
  it("a hostile repository runs nothing in a check for drift", async () => {
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

  it("a hostile repository runs nothing in a commit and a rebase", async () => {
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

  it("a hostile repository runs nothing when history is read", async () => {
    const { repository, fired } = hostileRepository();
    expect(await commitMessagesAbout(repository.root, "a.txt")).toEqual(["Theirs"]);
    expect(await commitMessagesAbout(repository.root, "b.txt")).toEqual([]);
    expect(fired()).toEqual([]);
  });

  it("a hostile name becomes no option or expression of git", async () => {
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

  it("git runs without the environment of the caller", () => {
    const environment = gitEnvironment({
      PATH: "/usr/bin:.:relative::/bin",
      GIT_DIR: "/x",
      GIT_CONFIG_COUNT: "1",
      GIT_EXTERNAL_DIFF: "/evil",
      GIT_SSH_COMMAND: "/evil",
      LD_PRELOAD: "/evil.so",
      HOME: "/home/user",
    });
    expect(environment["PATH"]).toBe("/usr/bin:/bin");
    expect(Object.values(environment).join()).not.toMatch(/evil|home/);
    expect(environment["GIT_DIR"]).toBeUndefined();
  });

  it("a folder that is not a repository is refused by name", async () => {
    const opening = GitRepository.with(temporaryFolder(), () => Promise.resolve(0));
    await expect(opening).rejects.toMatchObject({ code: "git_failed", command: "rev-parse" });
  });
});
