import { utimesSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { nodeSha256 } from "../../../src/internal/sha256/nodeSha256.ts";
import { checkDrift, type DriftQuestion } from "../../../src/workspace/drift/checkDrift.ts";
import {
  type DriftReport,
  driftResponse,
  driftSeverity,
  recommendRestart,
} from "../../../src/workspace/drift/DriftReport.ts";
import { isSettled, trackVersions } from "../../../src/workspace/drift/VersionTracker.ts";
import { WorkspaceFiles } from "../../../src/workspace/files/WorkspaceFiles.ts";
import { hunksIn, wholeFile } from "../../../src/workspace/git/hunks.ts";
import { lines, TestRepository } from "../git/repositories.ts";

function pair() {
  const origin = TestRepository.create();
  origin.commit({ "a.txt": lines(), "b.txt": lines(), ".gitignore": "*.log\n" });
  return { origin, ours: origin.clone() };
}

const check = ({ root }: TestRepository, question: Partial<DriftQuestion> = {}): Promise<DriftReport> =>
  checkDrift({ files: new WorkspaceFiles(root, 1e6), ...question });

type Files = Readonly<Record<string, string>>;

describe("checkDrift, on repositories with a remote", () => {
  it("checkDrift finds no drift in an unchanged repository", async () => {
    const { ours } = pair();
    const head = ours.git("rev-parse", "HEAD");
    expect(await check(ours)).toEqual({
      head,
      upstream: "refs/remotes/origin/main",
      upstreamHead: head,
      commitsBehind: 0,
      rewritten: false,
      severity: "none",
      localFiles: [],
      upstreamFiles: [],
      conflictingFiles: [],
    });
  });

  it.each<[string, Files, Files, string, readonly string[]]>([
    ["another file", { "a.txt": lines({ 3: "ours" }) }, { "b.txt": lines({ 3: "theirs" }) }, "low", []],
    ["a new file", { "a.txt": lines({ 3: "ours" }) }, { "new/c.txt": "c" }, "low", []],
    [
      "the file elsewhere",
      { "a.txt": lines({ 3: "ours" }) },
      { "a.txt": lines({ 15: "theirs" }) },
      "medium",
      ["a.txt"],
    ],
    ["the same line", { "a.txt": lines({ 3: "ours" }) }, { "a.txt": lines({ 3: "theirs" }) }, "high", ["a.txt"]],
    ["the next line", { "a.txt": lines({ 3: "ours" }) }, { "a.txt": lines({ 4: "theirs" }) }, "high", ["a.txt"]],
    ["the same new file", { "c.txt": "ours" }, { "c.txt": "theirs" }, "high", ["c.txt"]],
    ["a name with a line break", { "a\nb": "ours" }, { "a\nb": "theirs" }, "high", ["a\nb"]],
  ])("checkDrift rates the commits of others: %s", async (_name, own, other, severity, conflictingFiles) => {
    for (const committed of [true, false]) {
      const { origin, ours } = pair();
      if (committed) ours.commit(own);
      else for (const [path, content] of Object.entries(own)) ours.write(path, content);
      origin.commit(other);
      origin.commit({});
      expect((await check(ours)).commitsBehind).toBe(0);
      ours.git("fetch", "--quiet");
      const report = await check(ours);
      expect(report).toMatchObject({ commitsBehind: 2, severity, conflictingFiles, rewritten: false });
      expect(report.upstreamFiles).toEqual(Object.keys(other));
    }
  });

  it("checkDrift counts a file that one side deleted as fully changed", async () => {
    const { origin, ours } = pair();
    ours.remove("a.txt");
    origin.commit({ "a.txt": lines({ 15: "theirs" }) });
    ours.git("fetch", "--quiet");
    expect(await check(ours)).toMatchObject({ severity: "high", localFiles: ["a.txt"] });
  });

  it("checkDrift counts a file as fully changed if its difference is too large for one call of git", async () => {
    const { origin, ours } = pair();
    const large = (text: string) => `${text.repeat(1_000)}\n`.repeat(34_000);
    origin.commit({ "large.txt": large("a") });
    ours.git("pull", "--quiet");
    ours.remove("large.txt");
    origin.commit({ "large.txt": large("b") });
    ours.git("fetch", "--quiet");
    expect(await check(ours)).toMatchObject({ severity: "high", conflictingFiles: ["large.txt"] });
  });

  it("checkDrift separates changes of others from local changes and skips ignored files", async () => {
    const { ours } = pair();
    ours.write("a.txt", "by the agent\n");
    ours.write("b.txt", "by Ann\n");
    ours.write("new.txt", "");
    ours.write("debug.log", "");
    ours.write("other.agent-persistence/new.txt", "");
    ours.write("packages/.agent-persistence/new.txt", "");
    const state = { kind: "file", hash: nodeSha256.hex("by the agent\n"), bytes: 13, mode: 0o644 } as const;
    const left = new Map([["a.txt", state]]);
    const others = ["b.txt", "new.txt", "other.agent-persistence/new.txt"];
    expect((await check(ours)).localFiles).toEqual(["a.txt", ...others]);
    expect((await check(ours, { left })).localFiles).toEqual(others);
    ours.write("a.txt", "by the agent, and Ann\n");
    expect((await check(ours, { left })).localFiles).toEqual(["a.txt", ...others]);
  });

  it("checkDrift detects rewritten history", async () => {
    const { origin, ours } = pair();
    const known = origin.commit({ "a.txt": "1" });
    ours.git("fetch", "--quiet");
    expect((await check(ours, { knownUpstreamHead: known })).rewritten).toBe(false);
    origin.git("reset", "--quiet", "--hard", "HEAD~1");
    origin.commit({ "a.txt": "2" });
    ours.git("fetch", "--quiet");
    const report = await check(ours, { knownUpstreamHead: known });
    expect(report.rewritten).toBe(true);
    expect(driftResponse(report)).toMatchObject({
      action: "stop",
      advice: expect.stringContaining("by hand") as string,
    });
    expect((await check(ours, { knownUpstreamHead: "0".repeat(40) })).rewritten).toBe(true);
  });

  it("checkDrift uses the upstream of the branch or a named one and reports its age", async () => {
    const { origin, ours } = pair();
    origin.git("checkout", "--quiet", "-b", "next");
    origin.commit({ "b.txt": "next" });
    ours.git("fetch", "--quiet");
    utimesSync(join(ours.root, ".git/FETCH_HEAD"), 86_400, 86_400);
    expect(await check(ours)).toMatchObject({ commitsBehind: 0, fetchedAt: "1970-01-02T00:00:00.000Z" });
    expect(await check(ours, { upstream: "origin/next" })).toMatchObject({ commitsBehind: 1 });
    ours.git("branch", "--quiet", "--set-upstream-to=origin/next");
    expect(await check(ours)).toMatchObject({ commitsBehind: 1, upstream: "refs/remotes/origin/next" });
    await expect(check(ours, { upstream: "origin/none" })).rejects.toMatchObject({
      code: "git_failed",
      reason: expect.stringContaining('no commit "origin/none"') as unknown,
    });
  });

  it("checkDrift accepts an ordinary commit in a shallow clone", async () => {
    const origin = TestRepository.create();
    for (let count = 0; count < 3; count++) origin.commit({ "a.txt": lines({ 1: `${count}` }) });
    for (const fetch of [
      ["fetch", "--quiet"],
      ["fetch", "--quiet", "--depth=1"],
    ]) {
      const ours = new TestRepository();
      origin.git("clone", "--quiet", "--depth=1", `file://${origin.root}`, ours.root);
      const known = ours.git("rev-parse", "HEAD");
      ours.write("a.txt", lines({ 1: "2", 19: "ours" }));
      origin.commit({ "a.txt": lines({ 1: "2", 10: `theirs ${fetch.length}` }) });
      ours.git(...fetch);
      expect(await check(ours, { knownUpstreamHead: known })).toMatchObject({
        rewritten: false,
        commitsBehind: 1,
        severity: "medium",
        conflictingFiles: ["a.txt"],
      });
      origin.git("reset", "--quiet", "--hard", "HEAD~1");
    }
  });

  it("checkDrift detects rewritten history in a shallow clone", async () => {
    const origin = TestRepository.create();
    for (let count = 0; count < 3; count++) origin.commit({ "a.txt": lines({ 1: `${count}` }) });
    const ours = new TestRepository();
    origin.git("clone", "--quiet", "--depth=1", `file://${origin.root}`, ours.root);
    const known = ours.git("rev-parse", "HEAD");
    origin.git("reset", "--quiet", "--hard", "HEAD~1");
    origin.commit({ "b.txt": "b" });
    ours.git("fetch", "--quiet");
    expect((await check(ours, { knownUpstreamHead: known })).rewritten).toBe(true);
  });

  it("checkDrift leaves the repository unchanged", async () => {
    const { origin, ours } = pair();
    origin.commit({ "a.txt": lines({ 3: "theirs" }) });
    ours.git("fetch", "--quiet");
    ours.write("a.txt", lines({ 3: "ours" }));
    const state = () => ["count-objects", "for-each-ref", "status"].map((command) => ours.git(command)).join("\n");
    const before = state();
    await check(ours);
    expect(state()).toBe(before);
  });

  it("checkDrift works in a linked work tree and before the first commit", async () => {
    const { ours } = pair();
    const linked = new TestRepository(`${ours.root}-linked`);
    ours.git("worktree", "add", "--quiet", "-b", "side", linked.root);
    linked.write("a.txt", "changed");
    expect((await check(linked)).localFiles).toEqual(["a.txt"]);
    ours.git("worktree", "remove", "--force", linked.root);
    expect(await check(TestRepository.create())).toMatchObject({ severity: "none", localFiles: [] });
  });
});

describe("decisions about drift", () => {
  const hunk = (start: number, count = 1) => ({ start, count });
  it.each([
    ["no new commits", 0, [[hunk(3)], [hunk(3)]], "none"],
    ["no file in common", 1, undefined, "low"],
    ["apart", 1, [[hunk(3)], [hunk(5)]], "medium"],
    ["side by side", 1, [[hunk(3)], [hunk(4)]], "high"],
    ["the same", 1, [[hunk(3, 4)], [hunk(5)]], "high"],
    ["an insertion at the edge", 1, [[hunk(3)], [hunk(3, 0)]], "high"],
    ["an insertion apart", 1, [[hunk(3)], [hunk(4, 0)]], "medium"],
    ["two insertions in one place", 1, [[hunk(3, 0)], [hunk(3, 0)]], "high"],
    [
      "one of several",
      1,
      [
        [hunk(1), hunk(20)],
        [hunk(10), hunk(20)],
      ],
      "high",
    ],
    ["a whole file", 1, [[wholeFile], [hunk(10)]], "high"],
    ["changed there and back by us", 1, [[], [hunk(10)]], "medium"],
  ] as const)("severity: %s", (_name, commitsBehind, sides, severity) => {
    const common = sides === undefined ? [] : [{ path: "a", ours: sides[0], theirs: sides[1] }];
    expect(driftSeverity(commitsBehind, common)).toBe(severity);
  });

  it.each([
    ["", []],
    ["@@ -3 +3 @@\n-a\n+b\n@@ -7,0 +8,2 @@ f\n+c\n+d\n", [hunk(3), hunk(7, 0)]],
    ["Binary files a and b differ\n", [wholeFile]],
    ["@@ -3 +3 @@\n-a\r@@ -9 +9 @@\n+b\u2028@@ -8 +8 @@\n", [{ start: 3, count: 1 }]],
  ])("hunksIn reads the hunks of the diff %j", (diff, expected) => {
    expect(hunksIn(diff)).toEqual(expected);
  });

  it.each([
    [19, "high", undefined, "restart"],
    [20, "high", undefined, "merge_and_continue"],
    [0, "medium", undefined, "merge_and_continue"],
    [0, "high", "merge_and_continue", "merge_and_continue"],
    [90, "low", "restart", "restart"],
  ] as const)(
    "recommendRestart at %s %% and %s conflict, preferring %s: %s",
    (progress, severity, preference, advice) => {
      expect(recommendRestart({ progress, severity, ...(preference && { preference }) })).toBe(advice);
    },
  );

  const report: DriftReport = {
    head: "h1",
    upstream: "origin/main",
    upstreamHead: "u2",
    commitsBehind: 2,
    rewritten: false,
    severity: "low",
    localFiles: [],
    upstreamFiles: ["b"],
    conflictingFiles: [],
  };

  it("driftResponse: low continues, medium recommends a rebase soon, high pauses, rewritten history stops", () => {
    expect(driftResponse({ ...report, severity: "none" })).toEqual({ action: "continue" });
    expect(driftResponse(report)).toEqual({ action: "continue", rebase: "at_end" });
    expect(driftResponse({ ...report, severity: "medium" })).toEqual({ action: "continue", rebase: "soon" });
    expect(driftResponse({ ...report, severity: "high" })).toMatchObject({ action: "pause" });
    for (const [commitsBehind, words] of [
      [1, " has a new commit "],
      [2, " has 2 new commits "],
    ] as const) {
      const advice = expect.stringContaining(words) as string;
      const conflicting = { ...report, severity: "high", commitsBehind, conflictingFiles: ["a.txt"] } as const;
      expect(driftResponse(conflicting)).toMatchObject({ advice });
    }
    expect(driftResponse({ ...report, severity: "low", rewritten: true })).toMatchObject({ action: "stop" });
  });

  it("the version tracker uses the specified names and values and records each drift event once", () => {
    const about = { taskId: "t", at: "2026-01-01T00:00:00.000Z" };
    const quiet = { ...report, commitsBehind: 0, upstreamHead: "u1", severity: "none" } as const;
    const first = trackVersions(undefined, quiet, about);
    expect(first).toEqual({
      task_id: "t",
      started_at_commit: "h1",
      current_head: "h1",
      upstream_head: "u1",
      drift_events: [],
    });
    const second = trackVersions(first, { ...report, head: "h2", localFiles: ["x"] }, about);
    const details = { commits_behind: 2, conflicting_files: [], old_head: "u1", new_head: "u2" };
    expect(second).toMatchObject({
      started_at_commit: "h1",
      current_head: "h2",
      drift_events: [
        { detected_at: about.at, type: "upstream_change", details },
        { type: "local_change", details: { conflicting_files: ["x"] } },
      ],
    });
    expect(trackVersions(second, { ...report, localFiles: ["x"] }, about).drift_events).toEqual(second.drift_events);
    const rewritten = { ...report, rewritten: true, upstreamHead: "u9" };
    expect(isSettled(second, report)).toBe(false);
    const answered = trackVersions(second, report, { ...about, resolution: "ignored" });
    expect(answered.drift_events.map(({ resolution }) => resolution)).toEqual(["ignored", undefined]);
    expect(isSettled(answered, report)).toBe(true);
    const forced = trackVersions(second, rewritten, { ...about, resolution: "user_handled" });
    expect(forced.drift_events.at(-1)).toEqual({
      detected_at: about.at,
      type: "force_push",
      details: { old_head: "u2", new_head: "u9" },
      resolution: "user_handled",
    });
  });
});
