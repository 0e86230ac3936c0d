import { AIAgent, InMemoryPersistenceStorageProvider, Persistence } from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { Drift } from "agent-persistence/workspace";
import { median } from "../measure/statistics.ts";
import { change, clonedRepository, commit, git } from "./repositories.ts";

/** What a check for drift costs beside git. Medians in milliseconds. */
export interface DriftFigures {
  /** Files that both sides changed. */
  readonly files: number;
  readonly checkMs: number;
  /** The commands of git that tell a user the same. */
  readonly gitMs: number;
}

const files = 300;
const rounds = 9;

/** Among 1,000 files, the upstream changed 300. HEAD changed one half of them and the work tree the other. */
export async function drifts(directory: string): Promise<DriftFigures> {
  const { origin, ours } = clonedRepository(directory, 1_000);
  change(ours, [0, files / 2], 10, "ours");
  commit(ours);
  change(ours, [files / 2, files], 10, "ours");
  change(origin, [0, files], 80, "theirs");
  commit(origin);
  git(ours, "fetch", "--quiet");
  const agent = new AIAgent({ id: "a", llmModel: "m", promptExecutor: scriptedModel([]) })
    .install(Persistence, { storage: new InMemoryPersistenceStorageProvider() })
    .install(Drift, { root: ours });
  const times: { readonly checkMs: number; readonly gitMs: number }[] = [];
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    const report = await agent.feature(Drift).driftNow();
    const between = performance.now();
    if (report.conflictingFiles.length !== files || report.severity !== "medium") throw new Error("another drift");
    askGit(ours);
    times.push({ checkMs: between - start, gitMs: performance.now() - between });
  }
  return {
    files,
    checkMs: median(times.map(({ checkMs }) => checkMs)),
    gitMs: median(times.map(({ gitMs }) => gitMs)),
  };
}

/** Local changes, new commits, the last common commit, and the changed lines of both sides since. */
function askGit(root: string): void {
  git(root, "status", "--porcelain");
  git(root, "rev-list", "--count", "HEAD..origin/main");
  const base = git(root, "merge-base", "HEAD", "origin/main");
  git(root, "diff", "--unified=0", base);
  git(root, "diff", "--unified=0", base, "origin/main");
}
