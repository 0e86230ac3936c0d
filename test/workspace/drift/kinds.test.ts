import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { rebaseIfSafe } from "agent-persistence/workspace";
import { checkDrift } from "../../../src/workspace/drift/checkDrift.ts";
import { type DriftReport, driftResponse } from "../../../src/workspace/drift/DriftReport.ts";
import { WorkspaceFiles } from "../../../src/workspace/files/WorkspaceFiles.ts";
import { lines, TestRepository } from "../git/repositories.ts";
import { soak } from "../../soak/cases.ts";

const files = { "a.txt": lines(), "packages/one/c.txt": lines() };

/** A clone whose upstream then changed line 3 of a.txt. From now on nothing can be fetched. */
function behind(args: readonly string[] = [], branch = "main", format = "sha1"): TestRepository {
  const from = new TestRepository();
  from.git("init", "--quiet", `--initial-branch=${branch}`, `--object-format=${format}`);
  from.git("config", "uploadpack.allowFilter", "true");
  from.commit(files);
  const ours = new TestRepository();
  from.git("clone", "--quiet", ...args, `file://${from.root}`, ours.root);
  from.commit({ "a.txt": lines({ 3: "theirs" }) });
  ours.git("fetch", "--quiet");
  ours.git("remote", "set-url", "origin", "file:///nowhere");
  return ours;
}

function topic(): TestRepository {
  const ours = behind([], "trunk");
  ours.git("checkout", "--quiet", "-b", "topic");
  return ours;
}

function sparse(): TestRepository {
  const ours = behind();
  ours.git("sparse-checkout", "set", "packages/one");
  return ours;
}

const check = (root: string): Promise<DriftReport> => checkDrift({ files: new WorkspaceFiles(root, 1e6) });

const rebase = (root: string) => {
  const committer = { name: "Agent", email: "agent@example.com" };
  return rebaseIfSafe({ root, enabled: true, test: () => true, permission: () => true, committer });
};

/** The first ones are tried each time, all of them with SOAK. */
const kinds: readonly (readonly [string, () => TestRepository, string, Partial<DriftReport>])[] = [
  ["missing contents", () => behind(["--filter=blob:none"]), "", { severity: "high", conflictingFiles: ["a.txt"] }],
  ["a topic without upstream", topic, "", { severity: "high", upstream: "refs/remotes/origin/trunk" }],
  ["a branch master", () => behind([], "master"), "", { severity: "high", upstream: "refs/remotes/origin/master" }],
  ["a sparse checkout", sparse, "", { upstreamFiles: ["a.txt"] }],
  ["a package below the top", () => behind(), "packages/one", { severity: "low", upstreamFiles: [] }],
  ["SHA-256", () => behind([], "main", "sha256"), "", { severity: "high", conflictingFiles: ["a.txt"] }],
];

describe("drift in various kinds of repositories", () => {
  it.each(soak ? kinds : kinds.slice(0, 2))(
    "checkDrift reports the available facts: %s",
    async (name, prepare, folder, expected) => {
      const ours = prepare();
      ours.write("a.txt", lines({ 3: "ours" }));
      const report = await check(join(ours.root, folder));
      expect([name, report]).toMatchObject([name, { commitsBehind: 1, rewritten: false, ...expected }]);
    },
  );

  it.each(soak ? ["--depth=1", "--no-single-branch"] : ["--depth=1"])(
    "in a clone without trees (%s) the upstream files are unknown, and a rebase is refused",
    async (depth) => {
      const ours = behind(["--filter=tree:0", depth]);
      const head = ours.commit({ "own.txt": "ours" });
      ours.write("a.txt", "by hand");
      const report = await check(ours.root);
      expect(report).toMatchObject({ commitsBehind: 1, rewritten: false, localFiles: ["a.txt"], severity: "high" });
      const advice = expect.stringContaining("lacks the data to compare them") as string;
      expect(driftResponse(report)).toMatchObject({ action: "pause", advice });
      ours.git("checkout", "--quiet", "--", ".");
      expect(await rebase(ours.root)).toMatchObject({ rebased: false, reason: "not_fetched" });
      expect(ours.git("rev-parse", "HEAD")).toBe(head);
    },
  );

  it("a rebase onto contents that a partial clone did not fetch is refused without changes", async () => {
    const ours = behind(["--filter=blob:none"]);
    const head = ours.commit({ "own.txt": "ours" });
    expect(await rebase(ours.root)).toMatchObject({ rebased: false, reason: "not_fetched" });
    expect([ours.git("rev-parse", "HEAD"), existsSync(join(ours.root, ".git/index.lock"))]).toEqual([head, false]);
  });

  it("the error explains what to do if the files of HEAD were not fetched", async () => {
    const ours = behind(["--filter=tree:0"]);
    ours.git("update-ref", "HEAD", "refs/remotes/origin/main");
    await expect(check(ours.root)).rejects.toMatchObject({
      code: "git_failed",
      reason: expect.stringMatching(/has not fetched.*git status/) as string,
    });
  });
});
