import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { commitFiles, rebaseIfSafe, revertCommit } from "agent-persistence/workspace";
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { bundleWorker } from "../../kill/bundleWorker.ts";
import { temporaryDirectory } from "../../kill/temporaryDirectory.ts";
import { GitRepository } from "../../../src/workspace/git/GitRepository.ts";
import { IndexLock } from "../../../src/workspace/git/IndexLock.ts";
import { nodeSha256 } from "../../../src/internal/sha256/nodeSha256.ts";
import { TestRepository } from "./repositories.ts";
import { commandsOf } from "./wrappedGit.ts";

const author = { name: "Agent", email: "agent@example.com" };
const request = { message: "x", paths: ["a.txt"], author };

let home = "";
let program = "";
beforeAll(async () => {
  home = await temporaryDirectory();
  program = await bundleWorker(home, "../workspace/git/gitWorker.ts");
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** Runs an action in a process that is killed at its first, or at another, git command with this name. */
async function killedAt(command: string, ...args: readonly string[]): Promise<void> {
  const [name, count = "1"] = command.split(" ");
  const calls = join(await temporaryDirectory(), "calls");
  const act = async () => spawnSync(process.execPath, [program, ...args], { env: { ...process.env } });
  let signal: string | null = null;
  await commandsOf(
    async () => void ({ signal } = await act()),
    `case "$*" in *${name}*) echo >> "${calls}"; [ $(wc -l < "${calls}") = ${count} ] && kill -9 $PPID && exit 1;; esac`,
  );
  expect(signal).toBe("SIGKILL");
}

function withCommit(): TestRepository {
  const repository = TestRepository.create();
  repository.commit({ "a.txt": "1" });
  repository.write("a.txt", "2");
  return repository;
}

const lockOf = ({ root }: TestRepository) => join(root, ".git/index.lock");

it("a commit is possible after a process was killed in a commit", async () => {
  const repository = withCommit();
  await killedAt("update-index 2", "commit", repository.root);
  expect(existsSync(lockOf(repository))).toBe(true);
  expect(await commitFiles(repository.root, request)).toMatchObject({ made: true });
  expect([repository.git("show", "HEAD:a.txt"), repository.git("status", "--porcelain")]).toEqual(["2", ""]);
});

it("a revert is finished after a process was killed in it", async () => {
  const repository = withCommit();
  const made = await commitFiles(repository.root, request);
  await killedAt("update-ref", "revert", repository.root, JSON.stringify(made));
  expect(existsSync(lockOf(repository))).toBe(true);
  await revertCommit(repository.root, made);
  expect([repository.git("rev-parse", "HEAD"), existsSync(lockOf(repository))]).toEqual([made.parent, false]);
});

it("one of several commits takes the lock of a killed process", async () => {
  const repository = withCommit();
  const made = await commitFiles(repository.root, request);
  await killedAt("update-ref", "revert", repository.root, JSON.stringify(made));
  const commits = await Promise.allSettled(
    Array.from({ length: 8 }, (_, at) => {
      repository.write(`${at}.txt`, "");
      return commitFiles(repository.root, { ...request, paths: [`${at}.txt`] });
    }),
  );
  const count = commits.filter(({ status }) => status === "fulfilled").length;
  expect(count).toBeGreaterThan(0);
  expect(repository.git("rev-list", "--count", `${made.commit}..HEAD`)).toBe(String(count));
  expect(existsSync(lockOf(repository))).toBe(false);
});

it("only one of several commits takes the lock of a killed process, and no other commit removes the lock", async () => {
  const repository = withCommit();
  await killedAt("update-index 2", "commit", repository.root);
  const left = readFileSync(lockOf(repository), "utf8");
  const reasons: string[] = [];
  await GitRepository.with(repository.root, async (git) => {
    for (let round = 0; round < 20; round++) {
      writeFileSync(lockOf(repository), left);
      // Sometimes a process was killed while it removed the lock.
      if (round % 2 === 1) writeFileSync(`${lockOf(repository)}.${nodeSha256.hex(left).slice(0, 16)}`, left);
      const locks = await Promise.allSettled(Array.from({ length: 8 }, () => IndexLock.take(git)));
      expect(locks.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      expect(existsSync(lockOf(repository))).toBe(true);
      for (const lock of locks)
        if (lock.status === "fulfilled") await lock.value[Symbol.asyncDispose]();
        else reasons.push(String(lock.reason));
    }
  });
  expect(reasons.filter((reason) => !reason.includes("another git command is running"))).toEqual([]);
  expect(readdirSync(join(repository.root, ".git")).filter((name) => name.startsWith("index.lock"))).toEqual([]);
});

it("a commit that read the lock of a killed process removes no later lock", async () => {
  const repository = withCommit();
  await killedAt("update-index 2", "commit", repository.root);
  const file = lockOf(repository);
  const { readFile } = promises;
  await GitRepository.with(repository.root, async (git) => {
    const locks: IndexLock[] = [];
    const moved = [vi.spyOn(promises, "rename"), vi.spyOn(promises, "unlink")];
    // The second commit takes the lock after the first commit has read the text of the killed process.
    const read = vi.spyOn(promises, "readFile").mockImplementationOnce(async (...given) => {
      const text = await readFile(...given);
      locks.push(await IndexLock.take(git));
      for (const spy of moved) spy.mockClear();
      return text;
    });
    syncBuiltinESMExports();
    onTestFinished(() => {
      for (const spy of [read, ...moved]) spy.mockRestore();
      syncBuiltinESMExports();
    });
    await expect(IndexLock.take(git)).rejects.toThrow("another git command is running");
    expect(moved.flatMap(({ mock }) => mock.calls.filter(([path]) => path === file))).toEqual([]);
    for (const lock of locks) await lock[Symbol.asyncDispose]();
    expect(existsSync(file)).toBe(false);
  });
});

it("the lock of a rebase stays if its process was killed while it replaced the files", async () => {
  const origin = TestRepository.create();
  origin.commit({ "a.txt": "1", "b.txt": "1" });
  const ours = origin.clone();
  origin.commit({ "b.txt": "2" });
  ours.git("fetch", "--quiet");
  await killedAt("update-ref", "rebase", ours.root);
  ours.write("a.txt", "2");
  await expect(commitFiles(ours.root, request)).rejects.toMatchObject({ code: "git_failed" });
  expect(existsSync(lockOf(ours))).toBe(true);
  rmSync(lockOf(ours));
  ours.write("a.txt", "1");
  await killedAt("unpack-objects", "rebase", ours.root);
  const options = { root: ours.root, enabled: true, test: () => true, permission: () => true, committer: author };
  expect(await rebaseIfSafe(options)).toMatchObject({ rebased: true });
});

it("a lock file with other content is left", async () => {
  const repository = withCommit();
  for (const content of ["", "{}", "null", '{"processId":1,"incarnation":"boot x"}', "x".repeat(2_000)]) {
    writeFileSync(lockOf(repository), content);
    await expect(commitFiles(repository.root, request)).rejects.toMatchObject({ code: "git_failed" });
    rmSync(lockOf(repository));
  }
});
