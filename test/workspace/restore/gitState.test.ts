import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { crashAfter } from "agent-persistence/testing";
import type { FileConflict, FileResolution, WorkspaceOptions } from "agent-persistence/workspace";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../fixture.ts";
import { TestRepository } from "../git/repositories.ts";
import { abortedInCommand } from "../git/wrappedGit.ts";
import { Shell, steps } from "../Shell.ts";

/** A repository with two files. */
function project(): TestRepository {
  const repository = TestRepository.create();
  repository.commit({ "a.txt": "a\n", "b.txt": "b\n" });
  return repository;
}

/** What git tells of HEAD, the index and the work tree. */
function stateOf(repository: TestRepository) {
  return {
    head: head(repository),
    index: repository.git("ls-files", "--stage"),
    status: repository.git("status", "--porcelain"),
  };
}

/** The branch or commit that is checked out. */
function head(repository: TestRepository): string {
  try {
    return repository.git("symbolic-ref", "--quiet", "HEAD");
  } catch {
    return repository.git("rev-parse", "HEAD");
  }
}

interface Ran {
  readonly shell: Shell;
  readonly asked: FileConflict[];
  /** The id of the checkpoint before the first command. */
  readonly first: string;
}

/** Runs commands, each within a capture. @param answer default: there is no handler. */
async function ran(
  repository: TestRepository,
  commands: readonly (() => void)[],
  options: Partial<WorkspaceOptions> & {
    readonly answer?: FileResolution;
    readonly before?: (at: number) => void;
  } = {},
): Promise<Ran> {
  const { answer, ...others } = options;
  const asked: FileConflict[] = [];
  const onConflict = (conflict: FileConflict): FileResolution => {
    asked.push(conflict);
    return answer ?? "abort";
  };
  const shell = new Shell(repository.root, commands, { ...others, ...(answer && { onConflict }) });
  await shell.run();
  const [checkpoint] = await shell.build().saved.getCheckpoints({ nodeId: "callModel" });
  return { shell, asked, first: checkpoint?.checkpointId ?? "" };
}

const on = { restoreGitState: true } as const;

/** Commands, each with the subjects that a rollback has to name. */
const commands: readonly (readonly [string, readonly string[], (repository: TestRepository) => void])[] = [
  ["git mv", [".git/index"], (it) => void it.git("mv", "a.txt", "c.txt")],
  [
    "git add",
    [".git/index"],
    (it) => {
      it.write("a.txt", "new\n");
      it.write("added.txt", "added\n");
      it.git("add", "--all");
    },
  ],
  ["git rm --cached", [".git/index"], (it) => void it.git("rm", "--quiet", "--cached", "b.txt")],
  ["git checkout -B other", [".git/HEAD"], (it) => void it.git("checkout", "--quiet", "-B", "other")],
  ["git checkout --detach", [".git/HEAD"], (it) => void it.git("checkout", "--quiet", "--detach")],
  [
    "a commit on another branch",
    [".git/HEAD", ".git/index"],
    (it) => {
      it.git("checkout", "--quiet", "-b", "other");
      it.commit({ "c.txt": "c\n" });
    },
  ],
];

describe.each(commands)("%s in a command", (_name, subjects, command) => {
  it("is named by the preview and the report and stays", async () => {
    const repository = project();
    const { shell, first } = await ran(repository, [() => command(repository)]);
    const left = [head(repository), repository.git("ls-files", "--stage")];
    const named = (await shell.build().workspace.preview(first)).filter(({ path }) => path.startsWith(".git/"));
    expect(named.map(({ path, change }) => [path, change])).toEqual(subjects.map((path) => [path, "not_restored"]));
    const report = await shell.rollBack(0);
    const told = steps(report) as readonly { readonly subject: string; readonly change: string }[];
    const ofGit = told.filter(({ subject }) => subject.startsWith(".git/"));
    expect(ofGit.map(({ subject }) => subject)).toEqual(subjects);
    for (const { change } of ofGit) expect(change).toMatch(/^not restored: was changed by a command .*restoreGitState/);
    expect([head(repository), repository.git("ls-files", "--stage")]).toEqual(left);
  });

  it("is repeated by a redo with restoreGitState", async () => {
    const repository = project();
    const { shell } = await ran(repository, [() => command(repository)], on);
    const { saved } = shell.build();
    const after = stateOf(repository);
    const { checkpointId = "" } = (await saved.getLatestCheckpoint()) ?? {};
    await shell.rollBack(0);
    await saved.rollbackToCheckpoint(checkpointId);
    expect(stateOf(repository)).toEqual(after);
  });

  it("is restored with restoreGitState and reported", async () => {
    const repository = project();
    const before = stateOf(repository);
    const { shell, first } = await ran(repository, [() => command(repository)], on);
    const previewed = (await shell.build().workspace.preview(first)).filter(({ path }) => path.startsWith(".git/"));
    expect(previewed).toEqual(subjects.map((path) => ({ path, change: "write" })));
    const report = await shell.rollBack(0);
    expect(stateOf(repository)).toEqual(before);
    for (const subject of subjects) expect(steps(report)).toContainEqual({ subject, change: "write" });
    expect(await shell.rollBack(0)).toEqual(report);
  });
});

describe("HEAD and the index", () => {
  it("are restored over several commands, with the previously staged files", async () => {
    const repository = project();
    repository.write("a.txt", "staged\n");
    repository.git("add", "a.txt");
    repository.write("a.txt", "not staged\n");
    const before = stateOf(repository);
    const { shell } = await ran(
      repository,
      [
        () => void repository.git("add", "a.txt"),
        () => void repository.git("mv", "b.txt", "d.txt"),
        () => void repository.git("checkout", "--quiet", "-b", "x"),
        () => void repository.git("reset", "--quiet"),
        () => void repository.git("checkout", "--quiet", "--detach"),
      ],
      on,
    );
    await shell.rollBack(0);
    expect(stateOf(repository)).toEqual(before);
  });

  it("are restored on an unborn branch and on a detached HEAD", async () => {
    const unborn = TestRepository.create();
    unborn.write("a.txt", "a\n");
    const before = stateOf(unborn);
    const { shell } = await ran(
      unborn,
      [() => void unborn.git("add", "a.txt"), () => void unborn.git("checkout", "--quiet", "-b", "x")],
      on,
    );
    await shell.rollBack(0);
    expect(stateOf(unborn)).toEqual(before);

    const detached = project();
    detached.git("checkout", "--quiet", "--detach");
    const commit = detached.git("rev-parse", "HEAD");
    const ran2 = await ran(detached, [() => void detached.commit({ "a.txt": "new\n" })], on);
    expect(detached.git("rev-parse", "HEAD")).not.toBe(commit);
    await ran2.shell.rollBack(0);
    expect([detached.git("rev-parse", "HEAD"), detached.git("status", "--porcelain")]).toEqual([commit, ""]);
  });

  it("are restored from a subdirectory and in a linked work tree", async () => {
    const repository = project();
    repository.commit({ "packages/one/a.txt": "a\n", "packages/two/b.txt": "b\n" });
    const linked = new TestRepository(join(temporaryFolder(), "linked"));
    repository.git("worktree", "add", "--quiet", "-b", "linked", linked.root);
    for (const top of [repository, linked]) {
      const before = stateOf(top);
      const inside = new TestRepository(join(top.root, "packages/one"));
      const work = () => {
        inside.git("mv", "a.txt", "c.txt");
        inside.git("checkout", "--quiet", "-b", `of-${head(top).split("/").at(-1)}`);
      };
      const { shell } = await ran(inside, [work], on);
      await shell.rollBack(0);
      expect(stateOf(top)).toEqual(before);
    }
  });

  it("keep unmerged entries that a command resolved", async () => {
    const repository = project();
    repository.git("checkout", "--quiet", "-b", "theirs");
    repository.commit({ "a.txt": "theirs\n" });
    repository.git("checkout", "--quiet", "main");
    repository.commit({ "a.txt": "ours\n" });
    expect(() => repository.git("read-tree", "-m", "--aggressive", "main~1", "main", "theirs")).not.toThrow();
    const before = repository.git("ls-files", "--stage");
    expect(before).toContain(" 3\t");
    const { shell, asked } = await ran(repository, [() => void repository.git("add", "a.txt")], {
      ...on,
      answer: "skip",
    });
    await shell.rollBack(0);
    expect(asked).toEqual([]);
    expect(repository.git("ls-files", "--stage")).toBe(before);
  });

  it("are named but not restored if a command committed on the branch", async () => {
    const repository = project();
    const { shell } = await ran(repository, [() => void repository.commit({ "a.txt": "new\n" })], on);
    const commit = repository.git("rev-parse", "main");
    const report = await shell.rollBack(0);
    expect(steps(report)).toEqual([
      { subject: "a.txt", change: "write" },
      { subject: ".git/refs/heads/main", change: expect.stringContaining("a rollback moves no branch") as string },
      { subject: ".git/index", change: expect.stringContaining("belongs to commits that the branch keeps") as string },
    ]);
    expect([repository.git("rev-parse", "main"), repository.git("status", "--porcelain")]).toEqual([commit, "M a.txt"]);
  });

  it("are not mentioned if a person put them back or only files changed", async () => {
    const repository = project();
    const { shell } = await ran(repository, [
      () => void repository.git("checkout", "--quiet", "-b", "x"),
      () => repository.write("a.txt", "new\n"),
    ]);
    repository.git("checkout", "--quiet", "main");
    expect(steps(await shell.rollBack(0))).toEqual([{ subject: "a.txt", change: "write" }]);
  });
});

it("a rollback that leaves failures restores the files if the repository was removed after the plan", async () => {
  const repository = project();
  const work = () => {
    repository.write("b.txt", "new\n");
    repository.git("mv", "a.txt", "c.txt");
  };
  const { shell, first } = await ran(repository, [work], on);
  const { saved, workspace } = shell.build();
  const apply = workspace.apply.bind(workspace);
  Object.assign(workspace, {
    apply: (...given: Parameters<typeof apply>) => {
      rmSync(join(repository.root, ".git"), { recursive: true, force: true });
      return apply(...given);
    },
  });
  const report = await saved.rollbackToCheckpoint(first, { onFailure: "leave" });
  expect(readFileSync(join(repository.root, "b.txt"), "utf8")).toBe("b\n");
  const change = expect.stringContaining("cannot be read") as string;
  expect(steps(report)).toContainEqual({ subject: ".git/index", change });
});

it("a stopped rollback does not end git while HEAD changes", async () => {
  const repository = project();
  const { shell, first } = await ran(repository, [() => void repository.git("checkout", "--quiet", "-b", "x")], on);
  const { saved } = shell.build();
  let stopped: Promise<unknown> = Promise.resolve();
  const rollBack = () => saved.rollbackToCheckpoint(first).catch((error: unknown) => error);
  const stop = () => {
    stopped = saved.stop({ reason: "deploy" }).catch((error: unknown) => error);
  };
  await abortedInCommand("symbolic-ref?-m", join(repository.root, ".git"), rollBack, stop);
  await stopped;
  expect(head(repository)).toBe("refs/heads/main");
});

describe("a command that a crash interrupts", () => {
  it("is reported with HEAD and the index, which stay", async () => {
    const repository = project();
    const work = () => {
      repository.git("checkout", "--quiet", "-b", "x");
      repository.git("mv", "a.txt", "c.txt");
    };
    const onConflict = ({ kind }: FileConflict): FileResolution =>
      kind === "file_deleted" ? "restore" : "use_checkpoint";
    const shell = new Shell(repository.root, [work], { ...on, onConflict });
    // The input, the answer, the intent and the start of the capture.
    await shell
      .build(crashAfter(shell.storage, 4))
      .agent.run("go")
      .catch(() => undefined);
    const left = [head(repository), repository.git("ls-files", "--stage")];
    const report = await shell.rollBack(0);
    const change = "not restored: may have been changed by an interrupted command";
    expect(steps(report)).toContainEqual({ subject: ".git/HEAD", change });
    expect(steps(report)).toContainEqual({ subject: ".git/index", change });
    expect([head(repository), repository.git("ls-files", "--stage")]).toEqual(left);
  });
});

describe("a person who uses git after a command", () => {
  const move = (repository: TestRepository) => () => void repository.git("mv", "a.txt", "c.txt");
  const switchTo = (repository: TestRepository) => () => void repository.git("checkout", "--quiet", "-b", "x");

  it("gets a conflict for entries that both staged, and for HEAD", async () => {
    const repository = project();
    const { shell, first } = await ran(repository, [move(repository), switchTo(repository)], on);
    repository.git("checkout", "--quiet", "-b", "mine");
    repository.git("update-index", "--chmod=+x", "c.txt");
    const before = stateOf(repository);
    const files = repository.git("status", "--porcelain");
    const kind = "git_state_changed";
    const options = ["use_current", "use_checkpoint", "abort"];
    await expect(shell.rollBack(0)).rejects.toMatchObject({
      code: "file_conflict",
      conflicts: [
        { kind, path: ".git/HEAD", options },
        { kind, path: ".git/index", options },
      ],
    });
    expect([stateOf(repository), repository.git("status", "--porcelain")]).toEqual([before, files]);
    expect(await shell.build().workspace.preview(first)).toContainEqual({ path: ".git/index", change: "conflict" });
  });

  it.each(["use_current", "use_checkpoint"] as const)("gets the state chosen by the answer %s", async (answer) => {
    const repository = project();
    const before = stateOf(repository);
    const { shell, asked } = await ran(repository, [move(repository), switchTo(repository)], { ...on, answer });
    repository.git("checkout", "--quiet", "-b", "mine");
    repository.git("update-index", "--chmod=+x", "c.txt");
    const left = [head(repository), repository.git("ls-files", "--stage")];
    const report = await shell.rollBack(0);
    expect(asked.map(({ path }) => path)).toEqual([".git/HEAD", ".git/index"]);
    if (answer === "use_checkpoint") expect(stateOf(repository)).toEqual(before);
    else expect([head(repository), repository.git("ls-files", "--stage")]).toEqual(left);
    const change = answer === "use_current" ? answer : `write (${answer})`;
    expect(steps(report)).toContainEqual({ subject: ".git/HEAD", change });
    expect(repository.git("branch", "--format=%(refname:short)").split("\n")).toEqual(["main", "mine", "x"]);
  });

  it("keeps other staged files without a conflict", async () => {
    const repository = project();
    const { shell, asked } = await ran(repository, [move(repository)], { ...on, answer: "use_checkpoint" });
    repository.write("b.txt", "mine\n");
    repository.git("add", "b.txt");
    await shell.rollBack(0);
    expect(asked).toEqual([]);
    expect(repository.git("status", "--porcelain")).toBe("M  b.txt");
  });

  it("gets a conflict for new commits on the branch and loses none", async () => {
    const repository = project();
    const { shell, asked } = await ran(repository, [switchTo(repository)], { ...on, answer: "use_checkpoint" });
    repository.git("checkout", "--quiet", "main");
    const commit = repository.commit({ "b.txt": "mine\n" });
    repository.git("checkout", "--quiet", "x");
    await shell.rollBack(0);
    expect(asked).toEqual([{ kind: "git_state_changed", path: ".git/HEAD" }]);
    expect([head(repository), repository.git("rev-parse", "main")]).toEqual(["refs/heads/main", commit]);
  });

  it("gets a conflict after moving HEAD between two commands", async () => {
    const repository = project();
    const { shell, asked } = await ran(
      repository,
      [switchTo(repository), () => void repository.git("checkout", "--quiet", "-b", "y")],
      { ...on, answer: "use_current", before: (at) => at === 1 && repository.git("checkout", "--quiet", "-b", "mine") },
    );
    await shell.rollBack(0);
    expect([asked, head(repository)]).toEqual([[{ kind: "git_state_changed", path: ".git/HEAD" }], "refs/heads/y"]);
  });

  it("learns why HEAD cannot be restored", async () => {
    const repository = project();
    const { shell } = await ran(repository, [switchTo(repository)], on);
    const elsewhere = join(temporaryFolder(), "elsewhere");
    repository.git("worktree", "add", "--quiet", elsewhere, "main");
    const conflict = (reason: unknown) => ({
      conflicts: [{ kind: "file_unreachable", path: ".git/HEAD", reason, options: ["skip", "abort"] }],
    });
    const said = (text: string) => conflict(expect.stringContaining(text));
    await expect(shell.rollBack(0)).rejects.toMatchObject(said("refs/heads/main is checked out in"));
    repository.git("worktree", "remove", "--force", elsewhere);
    repository.git("branch", "--quiet", "-m", "main", "renamed");
    await expect(shell.rollBack(0)).rejects.toMatchObject(said("refs/heads/main no longer exists"));
    repository.git("branch", "--quiet", "-m", "renamed", "main");
    mkdirSync(join(repository.root, ".git/rebase-merge"));
    await expect(shell.rollBack(0)).rejects.toMatchObject(said("while a rebase is in progress"));
  });
});

it("the error of a rollback states that the files were restored if git is locked", async () => {
  const repository = project();
  const { shell } = await ran(
    repository,
    [
      () => {
        repository.git("checkout", "--quiet", "-b", "side");
        repository.write("a.txt", "agent");
      },
    ],
    on,
  );
  repository.write(".git/index.lock", "");
  await expect(shell.rollBack(0)).rejects.toMatchObject({
    code: "git_failed",
    changed: "The files were restored. HEAD or the index was not.",
  });
  repository.remove(".git/index.lock");
  await shell.rollBack(0);
  expect([head(repository), repository.git("status", "--porcelain")]).toEqual(["refs/heads/main", ""]);
});
