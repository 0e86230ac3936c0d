import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { SimulatedClock } from "agent-persistence/testing";
import { type GitError, rebaseIfSafe, type RebaseOptions } from "agent-persistence/workspace";
import { describe, expect, it } from "vitest";
import { treeOf } from "../fixture.ts";
import { aheadOfChanges } from "../restore/changingCalls.ts";
import { lines, TestRepository } from "../git/repositories.ts";
import { commandsOf } from "../git/wrappedGit.ts";

const committer = { name: "Agent", email: "agent@example.com" };

function pair(theirs: Readonly<Record<string, string>> = { "b.txt": "theirs\r\n" }) {
  const origin = TestRepository.create();
  origin.commit({ "a.txt": lines(), "b.txt": "b\n", "c.txt": "c\n" });
  const ours = origin.clone();
  ours.commit({ "a.txt": lines({ 3: "ours" }) }, "Ours 1");
  ours.commit({ "new.txt": "ours\n" }, "Ours 2");
  origin.commit(theirs, "Theirs");
  ours.git("fetch", "--quiet");
  return { origin, ours };
}

const rebase = ({ root }: TestRepository, options: Partial<RebaseOptions> = {}) =>
  rebaseIfSafe({ root, enabled: true, test: () => true, permission: () => true, committer, ...options });

/** Everything of the repository and its work tree but when it was last looked at. */
const stateOf = ({ root }: TestRepository) =>
  Object.fromEntries(Object.entries(treeOf(root)).filter(([path]) => path !== ".git/index"));

describe("rebaseIfSafe", () => {
  it("rebaseIfSafe rebases the branch and work tree when every condition holds", async () => {
    const { ours } = pair({ "b.txt": "theirs\r\n", "deep/d.txt": "d\n" });
    const oldHead = ours.git("rev-parse", "HEAD");
    const seen: string[] = [];
    const test = (folder: string) => {
      seen.push(readFileSync(join(folder, "b.txt"), "utf8"), readFileSync(join(folder, "new.txt"), "utf8"), folder);
      return Promise.resolve(!folder.startsWith(ours.root));
    };
    const result = await rebase(ours, { test });
    expect(result).toEqual({ rebased: true, oldHead, head: ours.git("rev-parse", "main") });
    expect(seen.slice(0, 2)).toEqual(["theirs\r\n", "ours\n"]);
    expect(existsSync(seen[2] ?? "")).toBe(false);
    expect(ours.git("log", "--format=%s %an %cn", "--reverse").split("\n")).toEqual([
      "change Ann Ann",
      "Theirs Ann Ann",
      "Ours 1 Ann Agent",
      "Ours 2 Ann Agent",
    ]);
    expect(ours.git("status", "--porcelain")).toBe("");
    expect(readFileSync(join(ours.root, "b.txt"), "utf8")).toBe("theirs\r\n");
    expect(ours.git("fsck", "--no-dangling")).toBe("");
    expect(await rebase(ours)).toMatchObject({ rebased: false, reason: "nothing_to_do" });
  });

  it.each<[string, string, Partial<RebaseOptions>, ((ours: TestRepository) => void)?]>([
    ["it is not enabled", "not_enabled", { enabled: false }],
    ["the tests fail", "tests_failed", { test: () => false }],
    ["permission is not given", "no_permission", { permission: () => false }],
    ["a file of somebody is not committed", "local_changes", {}, (ours) => ours.write("c.txt", "by hand")],
    ["a new file is not committed", "local_changes", {}, (ours) => ours.write("e.txt", "by hand")],
    ["both changed a file", "conflicting_files", {}, (ours) => void ours.commit({ "b.txt": "ours" })],
    [
      "a change is staged",
      "local_changes",
      {},
      (ours) => {
        ours.write("c.txt", "staged");
        ours.git("add", "c.txt");
        ours.write("c.txt", "c\n");
      },
    ],
    [
      "the branch has a merge",
      "merge_commits",
      {},
      (ours) => {
        ours.git("checkout", "--quiet", "-b", "side", "HEAD~1");
        ours.commit({ "side.txt": "side" });
        ours.git("checkout", "--quiet", "main");
        ours.git("merge", "--quiet", "--no-commit", "side");
        ours.commit({ "only-here.txt": "by the merge" });
      },
    ],
    [
      "somebody reverts a commit",
      "operation_in_progress",
      {},
      (ours) => ours.write(".git/REVERT_HEAD", `${ours.git("rev-parse", "HEAD")}\n`),
    ],
    [
      "the checkout is sparse",
      "sparse_checkout",
      {},
      (ours) => void ours.git("sparse-checkout", "set", "--no-cone", "/a.txt"),
    ],
    ["history was rewritten", "history_rewritten", { knownUpstreamHead: "0".repeat(40) }],
  ])("rebaseIfSafe refuses and changes nothing when %s", async (_name, reason, options, prepare) => {
    const { ours } = pair();
    prepare?.(ours);
    const before = stateOf(ours);
    const asked: string[] = [];
    const result = await rebase(ours, {
      permission: () => {
        asked.push("permission");
        return true;
      },
      ...options,
    });
    expect(result).toMatchObject({ rebased: false, reason });
    expect(stateOf(ours)).toEqual(before);
    expect(asked).toEqual([]);
  });

  it("rebaseIfSafe updates submodules in the index", async () => {
    const library = TestRepository.create();
    library.commit({ "x.txt": "1" });
    const origin = TestRepository.create();
    origin.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library.root, "library");
    origin.commit({ "a.txt": "a" });
    const ours = origin.clone();
    ours.commit({ "ours.txt": "ours" });
    const bumped = new TestRepository(join(origin.root, "library")).commit({ "x.txt": "2" });
    origin.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library.root, "another");
    origin.commit({ "b.txt": "theirs" });
    ours.git("fetch", "--quiet");
    expect(await rebase(ours)).toMatchObject({ rebased: true });
    expect(ours.git("rev-parse", "HEAD:library")).toBe(bumped);
    expect(ours.git("diff", "--cached", "--name-only")).toBe("");
    expect(ours.git("status", "--porcelain")).toBe("");
  });

  it("rebaseIfSafe moves the whole branch from a partial work tree and keeps a split index intact", async () => {
    const { ours } = pair({ "b.txt": "theirs", "packages/one/c.txt": "theirs" });
    ours.commit({ "packages/one/a.txt": "ours" });
    ours.git("update-index", "--split-index");
    const result = await rebase(ours, { root: join(ours.root, "packages/one") });
    expect(result).toMatchObject({ rebased: true });
    expect(readFileSync(join(ours.root, "b.txt"), "utf8")).toBe("theirs");
    expect(ours.git("status", "--porcelain")).toBe("");
  });

  it("rebaseIfSafe locks the index while the tests run", async () => {
    const { ours } = pair();
    const test = () => {
      ours.write("b.txt", "staged by hand");
      expect(() => ours.git("add", "b.txt")).toThrow(/index\.lock/);
      ours.git("cat-file", "-e", "HEAD");
      ours.write("b.txt", "b\n");
      return true;
    };
    expect(await rebase(ours, { test })).toMatchObject({ rebased: true });
    expect(existsSync(join(ours.root, ".git/index.lock"))).toBe(false);
  });

  it("rebaseIfSafe changes nothing while another git command locks the index", async () => {
    const { ours } = pair();
    ours.write(".git/index.lock", "");
    const before = stateOf(ours);
    const tested: string[] = [];
    const rebasing = rebase(ours, { test: (folder) => tested.push(folder) > 0 });
    await expect(rebasing).rejects.toMatchObject({ code: "git_failed", changed: "Nothing was changed." });
    expect([stateOf(ours), tested]).toEqual([before, []]);
  });

  it("rebaseIfSafe stops hanging tests at their time limit or on the signal", async () => {
    const { ours } = pair();
    const before = stateOf(ours);
    const clock = new SimulatedClock();
    const signals: AbortSignal[] = [];
    const hanging = (then: () => void) => (_folder: string, signal: AbortSignal) => {
      signals.push(signal);
      queueMicrotask(then);
      return new Promise<never>(() => {});
    };
    const late = rebase(ours, { test: hanging(() => clock.advance(1_800_000)), clock });
    expect(await late).toMatchObject({ rebased: false, reason: "tests_timed_out" });
    const stop = new AbortController();
    const stopped = rebase(ours, { test: hanging(() => stop.abort(new Error("enough"))), signal: stop.signal });
    await expect(stopped).rejects.toThrow("enough");
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    expect(stateOf(ours)).toEqual(before);
  });

  it("the error of a rebase lists the completed and missing changes", async () => {
    const { ours } = pair({ "b.txt": "theirs", "new-folder/d.txt": "d" });
    const head = ours.git("rev-parse", "HEAD");
    // What is written last finds a link in its way.
    const permission = () => {
      symlinkSync("/nowhere", join(ours.root, "new-folder"));
      return true;
    };
    const failed = await rebase(ours, { permission }).catch((error: unknown) => error as GitError);
    const now = ours.git("rev-parse", "HEAD");
    expect(now).toBe(head);
    expect(failed).toMatchObject({ code: "git_failed", changed: "Nothing was changed." });
    rmSync(join(ours.root, "new-folder"));
    const unlocked = () => {
      rmSync(join(ours.root, ".git/index.lock"));
      return true;
    };
    await expect(rebase(ours, { permission: unlocked })).rejects.toMatchObject({
      reason: expect.stringContaining("another program removed") as string,
      changed: "Nothing was changed.",
    });
    expect(ours.git("rev-parse", "HEAD")).toBe(head);
    const unwritable = () => {
      mkdirSync(join(ours.root, ".git/index.lock.next"));
      return true;
    };
    const error = await rebase(ours, { permission: unwritable }).catch((reason: unknown) => reason as GitError);
    expect(error).toMatchObject({
      code: "git_failed",
      changed: expect.stringMatching(
        /The branch was moved from .* and all files are written\. The index is as it was/,
      ) as string,
    });
    expect(ours.git("rev-parse", "HEAD")).not.toBe(head);
  });

  it("rebaseIfSafe moves no branch if an ignored file is in the way", async () => {
    const { ours, origin } = pair({ "d/x": "theirs" });
    ours.write(".git/info/exclude", "d\n");
    ours.write("d", "mine");
    const before = stateOf(ours);
    await expect(rebase(ours)).rejects.toMatchObject({
      changed: "Nothing was changed.",
      reason: expect.stringContaining('"d/x" cannot be replaced') as string,
    });
    rmSync(join(ours.root, "d"));
    ours.write("d/kept", "mine");
    rmSync(join(origin.root, "d"), { recursive: true });
    origin.commit({ d: "a file now" });
    ours.git("fetch", "--quiet");
    await expect(rebase(ours)).rejects.toMatchObject({
      changed: "Nothing was changed.",
      reason: '"d" becomes a file, and "d/kept" is in its way',
    });
    rmSync(join(ours.root, "d"), { recursive: true });
    ours.write("d", "mine");
    const { ".git/FETCH_HEAD": _fetched, ...same } = before;
    expect(stateOf(ours)).toMatchObject({
      d: same["d"],
      "a.txt": same["a.txt"],
      ".git/refs/heads/main": same[".git/refs/heads/main"],
    });
  });

  it("rebaseIfSafe handles a directory that becomes a file, and the reverse", async () => {
    const { ours, origin } = pair({ "d/deep/x": "1", "d/y": "2", f: "3" });
    await rebase(ours);
    for (const path of ["d", "f"]) rmSync(join(origin.root, path), { recursive: true });
    origin.commit({ d: "a file now", "f/z": "a folder now" });
    ours.git("fetch", "--quiet");
    expect(await rebase(ours)).toMatchObject({ rebased: true });
    expect(ours.git("status", "--porcelain")).toBe("");
    expect(treeOf(ours.root)).toMatchObject({ d: "644 a file now", "f/z": "644 a folder now" });
  });

  it("rebaseIfSafe does not overwrite a file that somebody changes while it writes", async () => {
    const { ours } = pair({ "b.txt": "theirs" });
    const head = ours.git("rev-parse", "HEAD");
    // When the branch moves, every file has been looked at.
    const person = `case "$*" in *" update-ref "*) echo person > "${join(ours.root, "b.txt")}";; esac`;
    const commands = await commandsOf(
      () => expect(rebase(ours)).rejects.toMatchObject({ changed: expect.stringContaining("0 of 1 files") as string }),
      person,
    );
    expect(commands.filter((command) => command === "update-ref")).toHaveLength(1);
    expect(readFileSync(join(ours.root, "b.txt"), "utf8")).toBe("person\n");
    expect(ours.git("rev-parse", "HEAD")).not.toBe(head);
  });

  it.each<[string, string, (ours: TestRepository) => unknown]>([
    ["made a file executable", '"b.txt"', ({ root }) => chmodSync(join(root, "b.txt"), 0o755)],
    [
      "put a file in place of a new directory",
      '"deep/d.txt" cannot be replaced',
      (ours) => ours.write("deep", "by hand"),
    ],
  ])("rebaseIfSafe moves no branch if somebody %s while the tests ran", async (_name, reason, change) => {
    const { ours } = pair({ "b.txt": "theirs", "deep/d.txt": "d" });
    const head = ours.git("rev-parse", "HEAD");
    let changed: unknown;
    const test = () => {
      change(ours);
      changed = [treeOf(ours.root)["b.txt"], treeOf(ours.root)["deep"]];
      return true;
    };
    await expect(rebase(ours, { test })).rejects.toMatchObject({
      changed: "Nothing was changed.",
      reason: expect.stringContaining(reason) as string,
    });
    expect(ours.git("rev-parse", "HEAD")).toBe(head);
    expect([treeOf(ours.root)["b.txt"], treeOf(ours.root)["deep"]]).toEqual(changed);
  });

  it("rebaseIfSafe keeps permissions that git does not track and sets those it tracks", async () => {
    const { ours, origin } = pair();
    chmodSync(join(origin.root, "c.txt"), 0o755);
    origin.commit({ "b.txt": "theirs" });
    ours.git("fetch", "--quiet");
    chmodSync(join(ours.root, "b.txt"), 0o600);
    chmodSync(join(ours.root, "c.txt"), 0o640);
    expect(await rebase(ours)).toMatchObject({ rebased: true });
    expect(treeOf(ours.root)).toMatchObject({ "b.txt": "600 theirs", "c.txt": "750 c\n" });
    expect(ours.git("status", "--porcelain")).toBe("");
    ours.git("config", "core.fileMode", "false");
    chmodSync(join(ours.root, "b.txt"), 0o755);
    origin.commit({ "b.txt": "theirs again" });
    ours.git("fetch", "--quiet");
    expect(await rebase(ours)).toMatchObject({ rebased: true });
    expect(treeOf(ours.root)["b.txt"]).toBe("755 theirs again");
  });

  it("rebaseIfSafe refuses if the branch or a file changed while the tests ran", async () => {
    const { ours } = pair();
    const writes = rebase(ours, {
      test: () => {
        ours.write("b.txt", "by hand");
        return true;
      },
    });
    await expect(writes).rejects.toMatchObject({
      code: "git_failed",
      reason: expect.stringContaining("b.txt") as string,
    });
    ours.git("checkout", "--quiet", "b.txt");
    const moved = ours.git("commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "by hand");
    const moves = rebase(ours, { test: () => ours.git("update-ref", "refs/heads/main", moved) === "" });
    await expect(moves).rejects.toMatchObject({ code: "git_failed", changed: "Nothing was changed." });
    expect(ours.git("rev-parse", "HEAD")).toBe(moved);
    expect(readFileSync(join(ours.root, "b.txt"), "utf8")).toBe("b\n");
  });

  it("rebaseIfSafe completes its last step after an abort", async () => {
    const { ours } = pair();
    const stop = new AbortController();
    const abort = (_call: number, path: string) => {
      if (path.endsWith(".agent-tmp")) stop.abort(new Error("enough"));
    };
    await aheadOfChanges(abort, async () => {
      expect(await rebase(ours, { signal: stop.signal })).toMatchObject({ rebased: true });
    });
    expect(stop.signal.aborted).toBe(true);
    expect(ours.git("status", "--porcelain")).toBe("");
  });

  it.each<[string, RegExp, (folder: string) => void]>([
    [
      "a file that is too large",
      /"big" is larger than \d+ bytes/,
      (folder) => truncateSync(join(folder, "big"), 70_000_000),
    ],
    [
      "a name that is not UTF-8",
      /has a name that is not UTF-8/,
      (folder) => writeFileSync(Buffer.concat([Buffer.from(`${folder}/caf`), Buffer.from([0xe9])]), ""),
    ],
    [
      "a link whose target is not UTF-8",
      /"link" is a link whose target is not UTF-8/,
      (folder) => symlinkSync(Buffer.from([0xe9]), join(folder, "link")),
    ],
    [
      "a submodule in a directory of the library",
      /leads into .agent-persistence/,
      (folder) => {
        mkdirSync(join(folder, ".agent-persistence/sub"), { recursive: true });
        const entry = `160000,${"1".repeat(40)},.agent-persistence/sub`;
        new TestRepository(folder).git("update-index", "--add", "--cacheinfo", entry);
      },
    ],
  ])("rebaseIfSafe moves no branch if the upstream has %s", async (_name, reason, add) => {
    const { ours, origin } = pair();
    origin.write("big", "");
    add(origin.root);
    origin.commit({});
    ours.git("fetch", "--quiet");
    const head = ours.git("rev-parse", "HEAD");
    await expect(rebase(ours)).rejects.toMatchObject({
      code: "git_failed",
      changed: "Nothing was changed.",
      reason: expect.stringMatching(reason) as string,
    });
    expect(ours.git("rev-parse", "HEAD")).toBe(head);
    expect(ours.git("status", "--porcelain")).toBe("");
  });
});
