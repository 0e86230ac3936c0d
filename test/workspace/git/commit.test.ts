import fs, { appendFileSync, chmodSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  RollbackToolRegistry,
  tool,
} from "agent-persistence";
import { crashAfter, scriptedModel } from "agent-persistence/testing";
import {
  commitFiles,
  commitTool,
  Drift,
  rebaseIfSafe,
  revertCommit,
  type DriftNotice,
} from "agent-persistence/workspace";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { commitInRun } from "../../../src/workspace/tools/commitTool.ts";
import { abortedInCommand, commandsOf } from "./wrappedGit.ts";
import { temporaryFolder } from "../fixture.ts";
import { hostileRepository } from "./hostileRepository.ts";
import { lines, TestRepository } from "./repositories.ts";

const author = { name: "Agent", email: "agent@example.com" };

describe("commitFiles", () => {
  it("commitFiles commits the named files and leaves other staged and changed files", async () => {
    const repository = TestRepository.create();
    const parent = repository.commit({ "a.txt": "1", "b.txt": "1", "c.txt": "1" });
    repository.write("a.txt", "2\r\n");
    repository.write("b.txt", "2");
    repository.write("new/d e.txt", "");
    repository.remove("c.txt");
    repository.write("staged.txt", "1");
    repository.git("add", "staged.txt");
    chmodSync(join(repository.root, "new/d e.txt"), 0o755);
    symlinkSync("a.txt", join(repository.root, "link"));
    const paths = ["a.txt", "c.txt", "new/d e.txt", "link"];
    const result = await commitFiles(repository.root, { message: "Agent's work", paths, author });
    const commit = repository.git("rev-parse", "HEAD");
    expect(result).toEqual({ commit, parent, made: true, branch: "refs/heads/main" });
    expect(repository.git("log", "-1", "--format=%an %ce %s %P", "main")).toBe(
      `Agent agent@example.com Agent's work ${parent}`,
    );
    expect(
      repository
        .git("show", "--raw", "--format=", "--no-renames", "--abbrev=4")
        .replaceAll(/ [0-9a-f]{4} [0-9a-f]{4}/g, ""),
    ).toBe(
      [
        ":100644 100644 M\ta.txt",
        ":100644 000000 D\tc.txt",
        ":000000 120000 A\tlink",
        ":000000 100755 A\tnew/d e.txt",
      ].join("\n"),
    );
    expect(
      repository
        .git("status", "--porcelain")
        .split("\n")
        .map((line) => line.trim()),
    ).toEqual(["M b.txt", "A  staged.txt"]);
    expect(repository.git("cat-file", "-p", "HEAD:a.txt")).toBe("2");
    expect(repository.git("fsck", "--no-dangling")).toBe("");
  });

  it("commitFiles creates no second commit of files in HEAD, and can create the first one of a branch", async () => {
    const repository = TestRepository.create();
    repository.write("a.txt", "1");
    const request = { message: "First", paths: ["a.txt"], author };
    const first = await commitFiles(repository.root, request);
    expect(first).toMatchObject({ made: true, parent: "" });
    expect(await commitFiles(repository.root, request)).toEqual({
      commit: first.commit,
      parent: first.commit,
      made: false,
    });
    expect(repository.git("rev-list", "--count", "HEAD")).toBe("1");
  });

  it("revertCommit reverts a commit once, while it is the newest", async () => {
    const repository = TestRepository.create();
    const before = repository.commit({ "a.txt": "1" });
    repository.write("a.txt", "2");
    const made = await commitFiles(repository.root, { message: "x", paths: ["a.txt"], author });
    await revertCommit(repository.root, made);
    await revertCommit(repository.root, made);
    expect(repository.git("rev-parse", "HEAD")).toBe(before);
    expect(repository.git("status", "--porcelain")).toBe("M a.txt");
    const again = await commitFiles(repository.root, { message: "x", paths: ["a.txt"], author });
    const theirs = repository.commit({ "b.txt": "theirs" });
    await expect(revertCommit(repository.root, again)).rejects.toMatchObject({ code: "git_failed" });
    expect(repository.git("rev-parse", "HEAD")).toBe(theirs);
  });

  it.each(["/never/made", "/tmp/a\0b"])(
    "a root that is not a directory, %j, is refused as missing a repository",
    async (root) => {
      const refusal = { code: "git_failed", message: expect.stringContaining("there is no repository at") as string };
      const made = { commit: "a".repeat(40), parent: "b".repeat(40), made: true };
      const rebase = { root, enabled: true, test: () => true, permission: () => true, committer: author };
      await expect(commitFiles(root, { message: "m", paths: ["a.txt"], author })).rejects.toMatchObject(refusal);
      await expect(revertCommit(root, made)).rejects.toMatchObject(refusal);
      await expect(rebaseIfSafe(rebase)).rejects.toMatchObject(refusal);
    },
  );

  it("commitFiles refuses to commit during a merge", async () => {
    const repository = TestRepository.create();
    repository.commit({ "a.txt": "1\n" });
    repository.git("checkout", "--quiet", "-b", "side");
    repository.commit({ "a.txt": "side\n" });
    repository.git("checkout", "--quiet", "main");
    const before = repository.commit({ "a.txt": "main\n" });
    expect(() => repository.git("merge", "--quiet", "side")).toThrow("merge");
    const state = repository.git("status", "--porcelain");
    expect(state).toBe("UU a.txt");
    const commit = () => commitFiles(repository.root, { message: "x", paths: ["a.txt"], author });
    await expect(commit()).rejects.toMatchObject({
      code: "git_failed",
      reason: expect.stringContaining("a merge is in progress") as string,
      changed: "Nothing was changed.",
    });
    rmSync(join(repository.root, ".git/MERGE_HEAD"));
    await expect(commit()).rejects.toMatchObject({ code: "git_failed" });
    expect([repository.git("status", "--porcelain"), repository.git("rev-parse", "HEAD")]).toEqual([state, before]);
  });

  it("commitFiles refuses to commit while another git command locks the index", async () => {
    const repository = TestRepository.create();
    const before = repository.commit({ "a.txt": "1" });
    repository.write("a.txt", "2");
    repository.write(".git/index.lock", "");
    const commit = () => commitFiles(repository.root, { message: "x", paths: ["a.txt"], author });
    await expect(commit()).rejects.toMatchObject({ reason: expect.stringContaining("index.lock") as string });
    expect(repository.git("rev-parse", "HEAD")).toBe(before);
    repository.remove(".git/index.lock");
    expect(await commit()).toMatchObject({ made: true });
    expect(repository.git("status", "--porcelain")).toBe("");
  });

  it("commitFiles commits in a part of a repository, in a split index, and with SHA-256", async () => {
    const repository = new TestRepository();
    repository.git("init", "--quiet", "--initial-branch=main", "--object-format=sha256");
    repository.commit({ "packages/one/a.txt": "1", "packages/one/gone.txt": "1", "b.txt": "1" });
    repository.git("update-index", "--split-index");
    repository.write("packages/one/a.txt", "2");
    repository.remove("packages/one/gone.txt");
    const one = join(repository.root, "packages/one");
    const made = await commitFiles(one, { message: "x", paths: ["a.txt", "gone.txt"], author });
    expect(repository.git("show", "--name-status", "--format=", "HEAD")).toBe(
      "M\tpackages/one/a.txt\nD\tpackages/one/gone.txt",
    );
    expect(repository.git("status", "--porcelain")).toBe("");
    await revertCommit(one, made);
    expect(repository.git("rev-parse", "HEAD")).toBe(made.parent);
    expect(repository.git("fsck", "--no-dangling")).toBe("");
  });

  it("commitFiles commits on a detached HEAD", async () => {
    const repository = TestRepository.create();
    const main = repository.commit({ "a.txt": "1" });
    repository.git("checkout", "--quiet", "--detach");
    repository.write("a.txt", "2");
    const { commit } = await commitFiles(repository.root, { message: "x", paths: ["a.txt"], author });
    expect(repository.git("rev-parse", "HEAD", "main")).toBe(`${commit}\n${main}`);
  });

  it("commitFiles runs no program that the repository configures, and keeps every byte", async () => {
    const { repository, fired } = hostileRepository();
    repository.write("a.txt", "$Id$\r\n\n");
    const made = await commitFiles(repository.root, { message: "--amend", paths: ["a.txt"], author });
    expect(fired()).toEqual([]);
    expect(made.made).toBe(true);
    await revertCommit(repository.root, made);
    expect(fired()).toEqual([]);
    rmSync(join(repository.root, ".gitattributes"));
    expect(repository.git("rev-parse", `${made.commit}:a.txt`)).toBe(
      repository.git("hash-object", "--no-filters", "a.txt"),
    );
  });

  it("commitFiles disables the hooks that settings of the repository name", async () => {
    const repository = TestRepository.create();
    repository.commit({ "a.txt": "1" });
    repository.git("config", "hook.a=b.c.event", "reference-transaction");
    repository.git("config", "hook.a=b.c.command", "program");
    repository.write("a.txt", "2");
    const log = join(temporaryFolder(), "log");
    // An older git runs no such hooks, but reads the settings in the same way.
    const show = `case "$*" in *update-ref*) git config --type bool "hook.a=b.c.enabled" >> "${log}";; esac`;
    await commandsOf(async () => {
      const made = await commitFiles(repository.root, { message: "x", paths: ["a.txt"], author });
      await revertCommit(repository.root, made);
    }, show);
    expect(readFileSync(log, "utf8")).toBe("false\nfalse\n");
  });

  it("commitFiles refuses to commit if a hook of the settings cannot be disabled", async () => {
    const repository = TestRepository.create();
    const before = repository.commit({ "a.txt": "1" });
    const config = join(repository.root, ".git/config");
    appendFileSync(config, Buffer.from('[hook "\xff"]\n\tevent = reference-transaction\n', "latin1"));
    repository.write("a.txt", "2");
    const committing = commitFiles(repository.root, { message: "x", paths: ["a.txt"], author });
    await expect(committing).rejects.toMatchObject({ code: "git_failed", changed: "Nothing was changed." });
    await expect(committing).rejects.toThrow("is not UTF-8");
    expect(repository.git("rev-parse", "HEAD")).toBe(before);
  });

  it("commitFiles refuses files of a submodule and keeps the submodule in the commit", async () => {
    const library = TestRepository.create();
    library.commit({ "x.txt": "1" });
    const repository = TestRepository.create();
    repository.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library.root, "libs/one");
    const before = repository.commit({ "a.txt": "1" });
    repository.write("a.txt", "2");
    repository.write("libs/one/x.txt", "2");
    const refused = { code: "git_failed", reason: '"libs/one/x.txt" is in the submodule "libs/one"; commit it there' };
    const commit = (folder: string, ...paths: readonly string[]) =>
      commitFiles(join(repository.root, folder), { message: "x", paths, author });
    await expect(commit("", "a.txt", "libs/one/x.txt")).rejects.toMatchObject(refused);
    await expect(commit("libs", "one/x.txt")).rejects.toMatchObject(refused);
    repository.git("rm", "--quiet", "--cached", "libs/one");
    await expect(commit("", "libs/one/x.txt")).rejects.toMatchObject(refused);
    expect(repository.git("rev-parse", "HEAD")).toBe(before);
    expect(repository.git("diff", "--cached", "--name-only")).toBe("libs/one");
  });

  it("commitFiles refuses files outside the sparse part of a repository", async () => {
    const repository = TestRepository.create();
    const before = repository.commit({ "d/a": "1", "e/b": "2" });
    repository.git("sparse-checkout", "set", "d");
    repository.write("d/a", "2");
    const commit = (...paths: readonly string[]) => commitFiles(repository.root, { message: "x", paths, author });
    const reason = '"e/b" is left out of this work tree (sparse checkout or skip-worktree)';
    await expect(commit("d/a", "e/b")).rejects.toMatchObject({ code: "git_failed", reason });
    expect(repository.git("rev-parse", "HEAD")).toBe(before);
    expect(await commit("d/a")).toMatchObject({ made: true });
    expect(repository.git("ls-files", "-t")).toBe("H d/a\nS e/b");
  });

  it.each([["../a.txt"], ["/etc/passwd"], [".git/config"]])("commitFiles refuses the path %s", async (path) => {
    const repository = TestRepository.create();
    const before = repository.commit({ "a.txt": "1" });
    const request = { message: "x", paths: [path], author };
    await expect(commitFiles(repository.root, request)).rejects.toMatchObject({ code: "path_not_allowed" });
    expect(repository.git("rev-parse", "HEAD")).toBe(before);
  });
});

it("commitFiles returns its commit even if its temporary directory cannot be removed", async () => {
  const repository = TestRepository.create();
  repository.write("a.txt", "1");
  const { rm } = fs.promises;
  const left: string[] = [];
  const refuse = (path: string) => {
    left.push(path);
    return Promise.reject(new Error("busy"));
  };
  Object.assign(fs.promises, { rm: refuse });
  syncBuiltinESMExports();
  const committing = commitFiles(repository.root, { message: "x", paths: ["a.txt"], author });
  const committed = await committing.finally(() => {
    Object.assign(fs.promises, { rm });
    syncBuiltinESMExports();
    for (const path of left) rmSync(path, { recursive: true, force: true });
  });
  expect([committed.made, left.length]).toEqual([true, 1]);
});

describe("the commit tool", () => {
  it("the commit tool checks for drift first, waits on high drift and is reverted by a rollback", async () => {
    const origin = TestRepository.create();
    origin.commit({ "a.txt": lines() });
    const ours = origin.clone();
    const before = ours.git("rev-parse", "HEAD");
    ours.write("a.txt", lines({ 3: "ours" }));
    const commit = commitTool({ root: ours.root, author });
    const storage = new InMemoryPersistenceStorageProvider();
    const notices: DriftNotice[] = [];
    const build = () => {
      const input = { message: "Ours", paths: ["a.txt"] };
      const rollbackToolRegistry = new RollbackToolRegistry().registerRollback(commit, (_input, { output }) =>
        revertCommit(ours.root, output),
      );
      const promptExecutor = scriptedModel([{ toolCalls: [{ toolName: "commit", input }] }, "done"]);
      const onDrift = (notice: DriftNotice) => {
        if (notices.push(notice) > 1) return;
        origin.commit({ "a.txt": lines({ 3: "theirs" }) });
        ours.git("fetch", "--quiet");
      };
      return new AIAgent({ id: "coder", promptExecutor, llmModel: "m", tools: [commit] })
        .install(Persistence, { storage, rollbackToolRegistry })
        .install(Drift, { root: ours.root, onDrift });
    };
    const result = await build().run("go");
    expect(result).toMatchObject({ status: "waiting" });
    expect(ours.git("rev-parse", "HEAD")).toBe(before);
    expect(notices.map(({ trigger, response }) => [trigger, response.action])).toEqual([
      ["before_task_resume", "continue"],
      ["before_commit", "pause"],
    ]);
    const agent = build();
    const saved = persistence(agent).agent();
    for (let answers = 0; answers < 2; answers++) {
      const [request] = await saved.getRequests();
      if (request) await saved.answer(request.requestId, "user_handled");
      await agent.resume().catch((error: unknown) => error);
    }
    expect(ours.git("log", "-1", "--format=%s")).toBe("Ours");
    const [first] = await saved.getCheckpoints();
    const report = await saved.rollbackToCheckpoint(first?.checkpointId ?? "");
    expect(report.reverted).toHaveLength(1);
    expect(ours.git("rev-parse", "HEAD")).toBe(before);
  });

  it("a repeated call makes each of its equal commits once", async () => {
    for (const saves of [3, 4, 5, 6]) {
      const repository = TestRepository.create();
      repository.commit({ "a.txt": "0" });
      const save = tool({
        name: "save",
        description: "",
        inputSchema: z.object({}),
        effect: "idempotent",
        execute: async (_input, { context }) => {
          for (const text of ["1", "2"]) {
            repository.write("a.txt", text);
            await commitInRun(context, repository.root, { message: "wip", paths: ["a.txt"], author });
          }
        },
      });
      const storage = new InMemoryPersistenceStorageProvider();
      const build = (used: Parameters<typeof crashAfter>[0]) =>
        new AIAgent({
          id: "coder",
          promptExecutor: scriptedModel([{ toolCalls: [{ toolName: "save", input: {} }] }, "done"]),
          llmModel: "m",
          tools: [save],
        }).install(Persistence, { storage: used });
      await build(crashAfter(storage, saves))
        .run("go")
        .catch((error: unknown) => error);
      expect(await build(storage).resume()).toMatchObject({ status: "completed" });
      expect([saves, repository.git("status", "--porcelain")]).toEqual([saves, ""]);
    }
  });

  it("a rollback reverts the commit of a call that a crash interrupted", async () => {
    const made: boolean[] = [];
    for (const saves of [3, 4]) {
      const repository = TestRepository.create();
      const before = repository.commit({ "a.txt": "1" });
      repository.write("a.txt", "2");
      const commit = commitTool({ root: repository.root, author });
      const storage = new InMemoryPersistenceStorageProvider();
      const rollbackToolRegistry = new RollbackToolRegistry().registerRollback(commit, (_input, { output }) =>
        revertCommit(repository.root, output),
      );
      const build = (used: Parameters<typeof crashAfter>[0]) => {
        const input = { message: "Agent", paths: ["a.txt"] };
        const promptExecutor = scriptedModel([{ toolCalls: [{ toolName: "commit", input }] }, "done"]);
        return new AIAgent({ id: "coder", promptExecutor, llmModel: "m", tools: [commit] }).install(Persistence, {
          storage: used,
          rollbackToolRegistry,
        });
      };
      await build(crashAfter(storage, saves))
        .run("go")
        .catch((error: unknown) => error);
      made.push(repository.git("rev-parse", "HEAD") !== before);
      const agent = build(storage);
      if (!made.at(-1) || (await persistence(agent).agent().getCheckpoints()).length === 0) continue;
      await agent.resume().catch((error: unknown) => error);
      const [first] = await persistence(agent).agent().getCheckpoints();
      await persistence(agent)
        .agent()
        .rollbackToCheckpoint(first?.checkpointId ?? "");
      expect([saves, repository.git("rev-parse", "HEAD")]).toEqual([saves, before]);
    }
    expect(made).toContain(true);
  });
});

describe("an abort", () => {
  it("does not end git while the branch moves", async () => {
    const repository = TestRepository.create();
    repository.commit({ "a.txt": "1" });
    repository.write("a.txt", "2");
    const stop = new AbortController();
    const commit = async () => {
      const request = { message: "Work", paths: ["a.txt"], author, signal: stop.signal };
      expect(await commitFiles(repository.root, request)).toMatchObject({ made: true });
    };
    await abortedInCommand("update-ref", join(repository.root, ".git"), commit, () => stop.abort(new Error("enough")));
    expect(repository.git("status", "--porcelain")).toBe("");
  });
});
