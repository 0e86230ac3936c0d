import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { rebaseIfSafe } from "agent-persistence/workspace";
import { median } from "../measure/statistics.ts";
import { change, clonedRepository, commit, git } from "./repositories.ts";

/** What a rebase costs beside git. Medians in milliseconds. */
export interface RebaseFigures {
  /** Files that the upstream changed. */
  readonly files: number;
  readonly rebaseMs: number;
  /** `git rebase` in a work tree. */
  readonly gitMs: number;
  /** `git worktree add`, `git rebase` there, and `git reset --keep`: with a folder for tests, as ours. */
  readonly apartMs: number;
}

const files = 500;
const rounds = 9;

/** Of 510 files, the upstream changed 500 and a commit of our own ten. Each round rebases three fresh clones. */
export async function rebases(directory: string): Promise<RebaseFigures> {
  const { origin, ours } = clonedRepository(directory, files + 10);
  change(ours, [files, files + 10], 10, "ours");
  commit(ours);
  change(origin, [0, files], 80, "theirs");
  commit(origin);
  const times: readonly number[][] = [[], [], []];
  for (let round = 0; round < rounds; round++) {
    const folder = join(directory, `${round}`);
    mkdirSync(folder);
    for (const [at, rebase] of [rebaseOurs, rebaseGit, rebaseApart].entries()) {
      const root = join(folder, `${at}`);
      git(directory, "clone", "--quiet", ours, root);
      git(root, "remote", "set-url", "origin", origin);
      git(root, "fetch", "--quiet");
      git(root, "status", "--porcelain");
      const start = performance.now();
      await rebase(root);
      times[at]?.push(performance.now() - start);
      if (git(root, "rev-list", "--count", "HEAD..origin/main") !== "0") throw new Error("nothing was rebased");
      if (git(root, "status", "--porcelain") !== "") throw new Error("files are left");
    }
  }
  const [rebaseMs = 0, gitMs = 0, apartMs = 0] = times.map(median);
  return { files, rebaseMs, gitMs, apartMs };
}

async function rebaseOurs(root: string): Promise<void> {
  const committer = { name: "Bench", email: "bench@example.com" };
  await rebaseIfSafe({ root, enabled: true, test: () => true, permission: () => true, committer });
}

function rebaseGit(root: string): Promise<void> {
  git(root, "rebase", "--quiet", "origin/main");
  return Promise.resolve();
}

function rebaseApart(root: string): Promise<void> {
  const apart = `${root}-apart`;
  git(root, "worktree", "add", "--quiet", "--detach", apart);
  git(apart, "rebase", "--quiet", "origin/main");
  git(root, "reset", "--quiet", "--keep", git(apart, "rev-parse", "HEAD"));
  return Promise.resolve();
}
