import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { rebaseIfSafe, type RebaseOptions } from "agent-persistence/workspace";
import { describe, expect, it } from "vitest";
import { treeOf } from "../fixture.ts";
import { lines, TestRepository } from "../git/repositories.ts";

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
  it("rebaseIfSafe rebases when every condition holds, in the work tree too", async () => {
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

  it("rebaseIfSafe refuses when the branch or a file changed while the tests ran", async () => {
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
    const commits = rebase(ours, { test: () => ours.commit({ "z.txt": "z" }) !== "" });
    await expect(commits).rejects.toMatchObject({ code: "git_failed" });
    expect(ours.git("log", "-1", "--format=%s")).toBe("change");
    expect(readFileSync(join(ours.root, "b.txt"), "utf8")).toBe("b\n");
  });
});
