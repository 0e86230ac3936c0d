import { join } from "node:path";
import { commitFiles, type GitCommitResult, revertCommit } from "agent-persistence/workspace";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../fixture.ts";
import { TestRepository } from "./repositories.ts";
import { commandsOf } from "./wrappedGit.ts";

const author = { name: "Agent", email: "agent@example.com" };

/** A repository with a branch `side`, and a commit of the agent on `main`. */
async function withCommit(): Promise<{ readonly repository: TestRepository; readonly made: GitCommitResult }> {
  const repository = TestRepository.create();
  repository.commit({ "a.txt": "1\n", "b.txt": "1\n" });
  repository.git("branch", "side");
  return { repository, made: await agentCommits(repository, { "a.txt": "agent\n" }) };
}

function agentCommits(repository: TestRepository, files: Readonly<Record<string, string>>): Promise<GitCommitResult> {
  for (const [path, content] of Object.entries(files)) repository.write(path, content);
  return commitFiles(repository.root, { message: "Agent", paths: Object.keys(files), author });
}

/** Refs, HEAD, index and status. */
function stateOf(repository: TestRepository): readonly string[] {
  return [
    repository.git("for-each-ref"),
    repository.git("rev-parse", "HEAD", "--abbrev-ref", "HEAD"),
    repository.git("ls-files", "--stage"),
    repository.git("status", "--porcelain"),
  ];
}

async function refuses(repository: TestRepository, made: GitCommitResult, reason: string): Promise<void> {
  const before = stateOf(repository);
  await expect(revertCommit(repository.root, made)).rejects.toMatchObject({
    code: "git_failed",
    reason: expect.stringContaining(reason) as string,
    changed: "Nothing was changed.",
  });
  expect(stateOf(repository)).toEqual(before);
}

const operations: readonly (readonly [string, (repository: TestRepository) => void])[] = [
  ["a merge", (repository) => repository.git("merge", "--quiet", "side")],
  ["a rebase", (repository) => repository.git("rebase", "--quiet", "side")],
];

describe("revertCommit", () => {
  it.each(operations)("revertCommit changes nothing in the middle of %s", async (operation, begin) => {
    const { repository, made } = await withCommit();
    repository.git("checkout", "--quiet", "side");
    repository.commit({ "a.txt": "theirs\n" });
    repository.git("checkout", "--quiet", "main");
    expect(() => begin(repository)).toThrow(operation.slice(2));
    await refuses(repository, made, `${operation} is in progress here; finish or abort it first`);
  });

  it("revertCommit keeps staged files of others, even in place of the reverted files", async () => {
    const repository = TestRepository.create();
    repository.commit({ "a.txt": "1\n", "b.txt": "1\n", file: "1\n", "folder/x": "1\n" });
    repository.git("rm", "--quiet", "file", "folder/x");
    repository.write("file/x", "agent\n");
    repository.write("folder", "agent\n");
    repository.write("a.txt", "agent\n");
    repository.write("b.txt", "agent\n");
    repository.write("new.txt", "agent\n");
    const paths = ["a.txt", "b.txt", "new.txt", "file/x", "folder", "folder/x"];
    const made = await commitFiles(repository.root, { message: "Agent", paths, author });
    for (const path of ["a.txt", "new.txt", "file/y", "folder"]) repository.write(path, `${path} of a person\n`);
    repository.git("add", "--all");
    for (const path of ["a.txt", "new.txt", "file/y", "folder"]) repository.write(path, "later\n");
    await revertCommit(repository.root, made);
    expect(repository.git("rev-parse", "HEAD")).toBe(made.parent);
    expect(repository.git("ls-files").split("\n")).toEqual(["a.txt", "b.txt", "file/y", "folder", "new.txt"]);
    for (const path of ["a.txt", "new.txt", "file/y", "folder"])
      expect(repository.git("show", `:${path}`)).toBe(`${path} of a person`);
    expect(repository.git("show", ":b.txt")).toBe("1");
    expect(repository.git("fsck", "--no-dangling")).toBe("");
  });

  it("revertCommit moves the branch of the commit and no other branch", async () => {
    const { repository, made } = await withCommit();
    expect(made.branch).toBe("refs/heads/main");
    repository.git("checkout", "--quiet", "-b", "mine");
    const before = stateOf(repository).slice(1);
    await revertCommit(repository.root, made);
    await revertCommit(repository.root, made);
    expect(repository.git("rev-parse", "main", "mine")).toBe(`${made.parent}\n${made.commit}`);
    expect(stateOf(repository).slice(1)).toEqual(before);
  });

  it("revertCommit refuses a branch that moved, is gone, or is checked out in another work tree", async () => {
    const { repository, made } = await withCommit();
    repository.git("checkout", "--quiet", "side");
    const other = new TestRepository(join(temporaryFolder(), "linked"));
    repository.git("worktree", "add", "--quiet", other.root, "main");
    await refuses(repository, made, "refs/heads/main is checked out in another work tree");
    other.commit({ "c.txt": "theirs" });
    repository.git("worktree", "remove", other.root);
    await refuses(repository, made, "is no longer the newest commit of refs/heads/main");
    repository.git("branch", "--quiet", "-D", "main");
    await refuses(repository, made, "refs/heads/main no longer exists");
  });

  it("revertCommit of a commit on a detached HEAD moves no branch", async () => {
    const { repository } = await withCommit();
    repository.git("checkout", "--quiet", "--detach");
    const made = await agentCommits(repository, { "a.txt": "detached\n" });
    expect(made.branch).toBe("");
    repository.git("checkout", "--quiet", "-b", "keep");
    await refuses(repository, made, "HEAD was detached when the commit was made, and is not now");
    repository.git("checkout", "--quiet", "--detach");
    await revertCommit(repository.root, made);
    expect(repository.git("rev-parse", "HEAD", "keep")).toBe(`${made.parent}\n${made.commit}`);
  });

  it("revertCommit of a commit without a recorded branch moves the current branch", async () => {
    const { repository, made } = await withCommit();
    const { branch: _, ...old } = made;
    await revertCommit(repository.root, old);
    expect(repository.git("rev-parse", "main")).toBe(made.parent);
    expect(repository.git("status", "--porcelain")).toBe("M a.txt");
  });

  it("revertCommit changes no branch or file if the index cannot be read", async () => {
    const { repository, made } = await withCommit();
    repository.write(".git/index", "not an index");
    await expect(revertCommit(repository.root, made)).rejects.toMatchObject({
      code: "git_failed",
      changed: "Nothing was changed.",
    });
    expect(repository.git("rev-parse", "HEAD")).toBe(made.commit);
  });

  it("the error of a revert states that the branch moved if only the index update failed", async () => {
    const { repository, made } = await withCommit();
    const lock = join(repository.root, ".git/index.lock");
    const revert = () =>
      expect(revertCommit(repository.root, made)).rejects.toMatchObject({
        code: "git_failed",
        changed: expect.stringMatching(/^The branch was moved back to [0-9a-f]{40}\. The index is as it was/) as string,
      });
    await commandsOf(revert, `case "$*" in *update-ref*) rm "${lock}";; esac`);
    expect(repository.git("rev-parse", "HEAD")).toBe(made.parent);
  });

  it("revertCommit reverts the index when it is repeated after a crash", async () => {
    const { repository, made } = await withCommit();
    // A crash after the branch was moved.
    repository.git("update-ref", "HEAD", made.parent);
    repository.write(".git/index.lock", "");
    await refuses(repository, made, "index.lock");
    repository.remove(".git/index.lock");
    await revertCommit(repository.root, made);
    expect(repository.git("ls-files", "--stage", "a.txt")).toContain(repository.git("rev-parse", "HEAD:a.txt"));
    expect(repository.git("status", "--porcelain")).toBe("M a.txt");
  });
});
