import { z } from "zod";
import type { AgentContext } from "../../agent/context/AgentContext.ts";
import { abortable, withinTime } from "../../internal/abortable.ts";
import { type Clock, systemClock } from "../../internal/Clock.ts";
import { assertContext, checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import {
  abortSignalSchema,
  clockSchema,
  functionSchema,
  nonEmptyString,
  numberFrom,
} from "../../internal/options/optionSchemas.ts";
import { together } from "../../internal/together.ts";
import { persistence } from "../../persistence/Persistence.ts";
import type { DriftReport } from "../drift/DriftReport.ts";
import { knownHeadOf, settleAll, versionTrackerKey } from "../drift/VersionTracker.ts";
import { findDrift } from "../drift/checkDrift.ts";
import { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import { authorSchema, type CommitAuthor, identityOf } from "../git/commitFiles.ts";
import { gitFoldersOf } from "../git/GitFolders.ts";
import { GitRepository, operationInProgress } from "../git/GitRepository.ts";
import { hasMerges, lacksObjects, mergeBase } from "../git/history.ts";
import { IndexLock } from "../git/IndexLock.ts";
import { isSparse, localChanges } from "../git/localChanges.ts";
import { commitIdSchema } from "../git/refName.ts";
import { checkOut, type CheckOutTarget } from "./checkOut.ts";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";

/** The reason why a rebase was refused. A refused rebase changes nothing. */
export type RebaseRefusal =
  | "not_enabled"
  | "nothing_to_do"
  | "history_rewritten"
  | "conflicting_files"
  | "local_changes"
  | "operation_in_progress"
  | "merge_commits"
  | "sparse_checkout"
  | "does_not_apply"
  | "not_fetched"
  | "tests_failed"
  | "tests_timed_out"
  | "no_permission";

/** The result of {@link rebaseIfSafe}. */
export type RebaseResult =
  | { readonly rebased: true; readonly oldHead: string; readonly head: string }
  | { readonly rebased: false; readonly reason: RebaseRefusal; readonly report?: DriftReport };

/** Options and conditions of a rebase. */
export interface RebaseOptions {
  /** The root of the repository's work tree. */
  readonly root: string;
  /** Enables the rebase. Defaults to false: the rebase is refused without reading the repository. */
  readonly enabled?: boolean | undefined;
  /** Defaults to the upstream of the current branch, or to `origin/main` without an upstream. */
  readonly upstream?: string | undefined;
  /** The upstream head of the last check. If omitted, the rebase does not detect rewritten history. */
  readonly knownUpstreamHead?: string | undefined;
  /**
   * Runs the project's tests in a directory with the rebased files that git tracks. If it returns false, the rebase is
   * refused. `signal` aborts when the rebase is aborted or the time limit is reached. The rebase then ends at once, so
   * stop all processes that the tests started.
   */
  readonly test: (folder: string, signal: AbortSignal) => PromiseLike<boolean> | boolean;
  /** The time limit of `test` in milliseconds. Defaults to 1,800,000 (30 minutes). */
  readonly testTimeoutMs?: number | undefined;
  /** Called for permission when all other conditions hold. If it returns false, the rebase is refused. */
  readonly permission: (report: DriftReport) => PromiseLike<boolean> | boolean;
  /** The committer of the new commits. The authors are unchanged. */
  readonly committer: CommitAuthor;
  /** Aborts the rebase, also during `test` and `permission`. The rebase then rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** The clock for `testTimeoutMs`. Defaults to the system clock. */
  readonly clock?: Clock | undefined;
}

const shape = {
  root: nonEmptyString,
  enabled: z.boolean().optional(),
  upstream: nonEmptyString.optional(),
  test: functionSchema(),
  testTimeoutMs: numberFrom(0).optional(),
  clock: clockSchema.optional(),
  permission: functionSchema(),
  committer: authorSchema,
};

/** Checks the options of a rebase in a run. The run supplies the other options. */
const rebaseInRunSchema: z.ZodType = strictOptions(() => shape);

const optionsSchema = strictOptions(() => ({
  ...shape,
  knownUpstreamHead: commitIdSchema.optional(),
  signal: abortSignalSchema.optional(),
}));

const defaultTestTimeoutMs = 1_800_000;
const maximumFileBytes = 64 * 1024 * 1024;

/**
 * Rebases the current branch onto its upstream if all of these conditions hold:
 *
 * - `enabled` is true.
 * - The upstream history was not rewritten, and it has new commits.
 * - No file was changed on both sides.
 * - The work tree and the index equal HEAD, and no merge or rebase is in progress.
 * - The branch has no merge commits, and each commit applies.
 * - The tests pass on the result, and permission is given.
 *
 * The rebase runs in a separate directory, so the repository does not change until every condition holds. The index is
 * locked from before the tests to the end. No other process can stage or commit during this time. The index gets the
 * new commits of submodules, but the work trees of submodules stay unchanged. Hooks and filters do not run.
 *
 * @example
 * ```ts
 * const exec = promisify(childProcess.exec);
 * const result = await rebaseIfSafe({
 *   root: process.cwd(),
 *   enabled: true,
 *   test: (directory, signal) => exec("npm test", { cwd: directory, signal }).then(() => true, () => false),
 *   permission: ({ upstream, commitsBehind }) => askOwner(`Rebase onto ${commitsBehind} commits of ${upstream}?`),
 *   committer: { name: "Agent", email: "agent@example.com" },
 * });
 * if (!result.rebased) console.log(`Not rebased: ${result.reason}`);
 * ```
 *
 * @throws InvalidInputError if an option is invalid.
 * @throws GitError if git fails, or if the branch or a file changed after the last check. Its `changed` says which
 * parts of the repository changed.
 */
export async function rebaseIfSafe(options: RebaseOptions): Promise<RebaseResult> {
  checkSchema(optionsSchema, options, "options of the rebase");
  if (options.enabled !== true) return { rebased: false, reason: "not_enabled" };
  const { upstream, knownUpstreamHead, signal } = options;
  // A rebase moves the whole branch, so it checks the whole work tree even if the agent works in a subdirectory.
  const { top: root } = gitFoldersOf(options.root);
  const rebaseWhole = async (repository: GitRepository): Promise<RebaseResult> => {
    const files = new WorkspaceFiles(root, maximumFileBytes);
    const report = await findDrift(repository, { files, upstream, knownUpstreamHead });
    const start = refusalFor(report) ?? (await startIn(repository, report));
    if (typeof start === "string") return { rebased: false, reason: start, report };
    await using lock = await IndexLock.take(repository);
    return await rebase(repository, { files, lock, ...start }, options, report);
  };
  return GitRepository.with(root, rebaseWhole, signal);
}

/** Returns the reason to refuse a rebase, or `undefined`. */
export function refusalFor(report: DriftReport): RebaseRefusal | undefined {
  if (report.rewritten) return "history_rewritten";
  if (report.commitsBehind === 0) return "nothing_to_do";
  if (report.conflictingFiles.length > 0) return "conflicting_files";
  return report.localFiles.length > 0 ? "local_changes" : undefined;
}

/** Returns the commit to rebase from, or the reason to refuse. */
async function startIn(
  repository: GitRepository,
  { head = "", upstreamHead = "" }: DriftReport,
): Promise<{ readonly base: string } | RebaseRefusal> {
  const [operation, base, isWithoutFiles] = await together(
    operationInProgress(repository),
    mergeBase(repository, head, upstreamHead),
    isSparse(repository),
  );
  if (operation !== undefined) return "operation_in_progress";
  // A shallow clone lacks the commit to rebase from.
  if (base === undefined) return "does_not_apply";
  if (await hasMerges(repository, base, head)) return "merge_commits";
  return isWithoutFiles ? "sparse_checkout" : { base };
}

async function rebase(
  repository: GitRepository,
  target: CheckOutTarget & { readonly base: string },
  options: RebaseOptions,
  report: DriftReport,
): Promise<RebaseResult> {
  const { head = "", upstreamHead = "" } = report;
  const refused = (reason: RebaseRefusal): RebaseResult => ({ rebased: false, reason, report });
  // Another process may have staged or changed a file before the lock was taken.
  if ((await localChanges(repository, head)).length > 0) return refused("local_changes");
  const folder = join(repository.scratch, "rebased");
  await mkdir(folder);
  const isFetched = async (): Promise<boolean> => !(await lacksObjects(repository, [upstreamHead, `^${head}`]));
  const commits = { head, upstreamHead, base: target.base };
  const rebased = await rebaseApart(repository, folder, commits, options.committer).catch(async (error: unknown) => {
    if (await isFetched()) throw error;
  });
  if (rebased === undefined) return refused((await isFetched()) ? "does_not_apply" : "not_fetched");
  const passed = await testsPass(folder, options);
  if (passed !== true) return refused(passed === false ? "tests_failed" : "tests_timed_out");
  const { signal = new AbortController().signal } = options;
  if (!(await abortable(signal, async () => options.permission(report)))) return refused("no_permission");
  await keepObjects(repository, rebased, [head, upstreamHead]);
  await checkOut(repository, target, { from: head, to: rebased });
  return { rebased: true, oldHead: head, head: rebased };
}

/** Returns `undefined` if the tests exceed the time limit. */
async function testsPass(
  folder: string,
  {
    test,
    testTimeoutMs = defaultTestTimeoutMs,
    clock = systemClock,
    signal = new AbortController().signal,
  }: RebaseOptions,
): Promise<boolean | undefined> {
  const late = new Error(`the tests did not end within ${testTimeoutMs} ms`);
  const limit = { ms: testTimeoutMs, clock, late: () => late };
  try {
    return await withinTime(limit, signal, async (testSignal) => test(folder, testSignal));
  } catch (error) {
    if (error === late) return undefined;
    throw error;
  }
}

/** Rebases in the temporary git directory. Returns the new head, or `undefined` if a commit does not apply. */
async function rebaseApart(
  repository: GitRepository,
  folder: string,
  { head, upstreamHead, base }: { readonly head: string; readonly upstreamHead: string; readonly base: string },
  committer: CommitAuthor,
): Promise<string | undefined> {
  const { GIT_COMMITTER_NAME = "", GIT_COMMITTER_EMAIL = "" } = identityOf(committer);
  const empty = join(repository.scratch, "empty");
  await mkdir(empty);
  const environment = { GIT_WORK_TREE: empty, GIT_COMMITTER_NAME, GIT_COMMITTER_EMAIL };
  await repository.detachAt(head);
  // Git rebases in memory. The files are written once, for the tests.
  const rebased = await repository.withoutFiles(async (settings) => {
    await repository.objects(["read-tree", "--reset", "-u", head], { environment, settings });
    const args = ["-C", empty, "rebase", "--quiet", "--no-autostash", "--no-verify", "--onto", upstreamHead, base];
    const { exitCode } = await repository.objects(args, { environment, settings, expected: [0, 1] });
    return exitCode === 0 ? repository.detachedAt() : undefined;
  });
  if (rebased === undefined) return undefined;
  const own = { GIT_WORK_TREE: folder, GIT_INDEX_FILE: join(repository.scratch, "rebased.index") };
  await repository.objects(["read-tree", "--reset", "-u", rebased], { environment: own });
  return rebased;
}

/** Copies the new commits into the repository. */
async function keepObjects(repository: GitRepository, commit: string, known: readonly string[]): Promise<void> {
  const input = [commit, ...known.map((id) => `^${id}`), ""].join("\n");
  const pack = (await repository.objects(["pack-objects", "--revs", "--stdout", "--quiet"], { input })).output;
  await repository.objects(["unpack-objects", "-q"], { input: pack, keep: true });
}

/**
 * Runs {@link rebaseIfSafe} in a run that `Drift` watches. Uses the last upstream head of the run to detect rewritten
 * history. Marks the upstream changes as `rebased`.
 *
 * @throws InvalidInputError, GitError
 */
export async function rebaseInRun(
  context: AgentContext,
  options: Omit<RebaseOptions, "knownUpstreamHead" | "signal">,
): Promise<RebaseResult> {
  checkSchema(rebaseInRunSchema, options, "options of the rebase");
  assertContext(context, "rebase");
  const known = context.storage.get(versionTrackerKey);
  const result = await rebaseIfSafe({ ...options, knownUpstreamHead: knownHeadOf(known), signal: context.signal });
  if (!known || !result.rebased) return result;
  const value = { ...settleAll(known, "rebased"), current_head: result.head };
  context.storage.set(versionTrackerKey, value);
  // The note makes the tracker durable at once. The storage is only saved at the end of the node.
  const saved = persistence(context);
  saved.note({ key: versionTrackerKey.name, value });
  await saved.durable();
  return result;
}
