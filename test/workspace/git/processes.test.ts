import { describe, expect, it } from "vitest";
import { checkDrift } from "../../../src/workspace/drift/checkDrift.ts";
import { WorkspaceFiles } from "../../../src/workspace/files/WorkspaceFiles.ts";
import { commitFiles } from "../../../src/workspace/git/commitFiles.ts";
import { rebaseIfSafe } from "../../../src/workspace/rebase/rebaseIfSafe.ts";
import { lines, TestRepository } from "./repositories.ts";
import { commandsOf } from "./wrappedGit.ts";

const author = { name: "Agent", email: "agent@example.com" };

const files = (count: number, changed: Readonly<Record<number, string>>) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, at) => [`part-${at % 3}/${at}.txt`, `${at}\n${lines(changed)}`]),
  );

/** Another clone of a repository that has more than enough files, of which its origin changed some. */
function pair(count: number) {
  const origin = TestRepository.create();
  origin.commit(files(12, {}));
  const ours = origin.clone();
  origin.commit(files(count, { 15: "theirs" }));
  ours.git("fetch", "--quiet");
  return ours;
}

describe("the number of git processes", () => {
  it("does not depend on the number of files in a check for drift", async () => {
    const check = async (count: number) => {
      const ours = pair(count);
      ours.commit(files(count / 2, { 3: "ours" }));
      for (const [path, content] of Object.entries(files(count, { 3: "ours" }))) ours.write(path, content);
      return commandsOf(async () => {
        const report = await checkDrift({ files: new WorkspaceFiles(ours.root, 1e6) });
        expect([report.severity, report.conflictingFiles.length]).toEqual(["medium", count]);
      });
    };
    const few = await check(2);
    expect(few.length).toBeLessThan(20);
    expect(await check(12)).toEqual(few);
  });

  it("does not depend on the number of files in a rebase", async () => {
    const rebase = (count: number) => {
      const ours = pair(count);
      ours.commit({ "ours.txt": "ours" });
      const conditions = { test: () => true, permission: () => true, committer: author };
      return commandsOf(async () => {
        expect(await rebaseIfSafe({ root: ours.root, enabled: true, ...conditions })).toMatchObject({ rebased: true });
        expect(ours.git("status", "--porcelain")).toBe("");
      });
    };
    const few = await rebase(2);
    expect(few.length).toBeLessThan(40);
    expect(await rebase(12)).toEqual(few);
  });

  it("does not depend on the number of files in a commit", async () => {
    const commit = (count: number) => {
      const repository = TestRepository.create();
      repository.commit(files(12, {}));
      const changed = files(count, { 3: "ours" });
      for (const [path, content] of Object.entries(changed)) repository.write(path, content);
      return commandsOf(async () => {
        await commitFiles(repository.root, { message: "x", paths: Object.keys(changed), author });
        expect(repository.git("status", "--porcelain")).toBe("");
      });
    };
    const few = await commit(2);
    expect(few.length).toBeLessThan(20);
    expect(await commit(12)).toEqual(few);
  });
});
