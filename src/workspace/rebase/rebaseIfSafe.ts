import { z } from "zod";
import type { AgentContext } from "../../agent/context/AgentContext.ts";
import { GitError } from "../../errors/workspace/GitError.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { abortSignalSchema, functionSchema, nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import type { DriftReport } from "../drift/DriftReport.ts";
import { knownHeadOf, settleAll, versionTrackerKey } from "../drift/VersionTracker.ts";
import { checkDrift } from "../drift/checkDrift.ts";
import { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import { relativePath } from "../files/relativePath.ts";
import { GitRepository } from "../git/GitRepository.ts";
import { type ChangedFile, changedFiles, entryAfter, objectOf, updateIndex } from "../git/changes.ts";
import { authorSchema, type CommitAuthor, identityOf, moveHead } from "../git/commitFiles.ts";
import { commitOf, mergeBase } from "../git/history.ts";
import { commitIdSchema } from "../git/refName.ts";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";

/** Why nothing was rebased. Nothing has changed. */
export type RebaseRefusal =
  | "not_enabled"
  | "nothing_to_do"
  | "history_rewritten"
  | "conflicting_files"
  | "local_changes"
  | "does_not_apply"
  | "tests_failed"
  | "no_permission";

/** The result of a rebase. */
export type RebaseResult =
  | { readonly rebased: true; readonly oldHead: string; readonly head: string }
  | { readonly rebased: false; readonly reason: RebaseRefusal; readonly report?: DriftReport };

/** What to rebase, and the conditions, all of which must hold. */
export interface RebaseOptions {
  /** The root of the repository's work tree. */
  readonly root: string;
  /** Must be true for a rebase. Default: false, which does not even look at the repository. */
  readonly enabled?: boolean | undefined;
  /** Default: the upstream of the branch that is checked out, else `origin/main`. */
  readonly upstream?: string | undefined;
  /** The upstream head of the last check, to detect rewritten history. Absent: it is not detected. */
  readonly knownUpstreamHead?: string | undefined;
  /** Runs the project's tests in a folder that has only the rebased files that git knows; false refuses the rebase. */
  readonly test: (folder: string) => PromiseLike<boolean> | boolean;
  /** Asked last, with the drift that the rebase would settle; false refuses the rebase. */
  readonly permission: (report: DriftReport) => PromiseLike<boolean> | boolean;
  /** The committer of the new commits; their authors stay. */
  readonly committer: CommitAuthor;
  /** Aborts git; the call then rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
}

const shape = {
  root: nonEmptyString,
  enabled: z.boolean().optional(),
  upstream: nonEmptyString.optional(),
  test: functionSchema(),
  permission: functionSchema(),
  committer: authorSchema,
};

/** The options of a rebase in a run, which brings the others itself. */
export const rebaseInRunSchema: z.ZodType = strictOptions(shape);

const optionsSchema = strictOptions({
  ...shape,
  knownUpstreamHead: commitIdSchema.optional(),
  signal: abortSignalSchema.optional(),
});

/**
 * Rebases the branch that is checked out onto its upstream, if it is enabled, history was not rewritten, no file was changed
 * on both sides, the work tree equals HEAD, each commit applies, the tests pass on the result, and permission is given. The
 * rebase runs in a separate folder: the repository does not change until every condition holds. No hook or filter runs.
 *
 * @throws InvalidInputError; GitError, also when the branch or a file was changed after the last condition was checked.
 */
export async function rebaseIfSafe(options: RebaseOptions): Promise<RebaseResult> {
  checkSchema(optionsSchema, options, "options of the rebase");
  if (options.enabled !== true) return { rebased: false, reason: "not_enabled" };
  const files = new WorkspaceFiles(options.root, 64 * 1024 * 1024);
  const { upstream, knownUpstreamHead, signal } = options;
  const report = await checkDrift({ files, upstream, knownUpstreamHead, signal });
  const reason = refusalFor(report);
  if (reason !== undefined) return { rebased: false, reason, report };
  return GitRepository.with(options.root, (repository) => rebase(repository, files, options, report), signal);
}

/** The reason not to try a rebase; `undefined`: none. */
export function refusalFor(report: DriftReport): RebaseRefusal | undefined {
  if (report.rewritten) return "history_rewritten";
  if (report.commitsBehind === 0) return "nothing_to_do";
  if (report.conflictingFiles.length > 0) return "conflicting_files";
  return report.localFiles.length > 0 ? "local_changes" : undefined;
}

async function rebase(
  repository: GitRepository,
  files: WorkspaceFiles,
  options: RebaseOptions,
  report: DriftReport,
): Promise<RebaseResult> {
  const { head = "", upstreamHead = "" } = report;
  const folder = join(repository.scratch, "rebased");
  await mkdir(folder);
  const rebased = await rebaseApart(repository, folder, [head, upstreamHead], options.committer);
  if (rebased === undefined) return { rebased: false, reason: "does_not_apply", report };
  if (!(await options.test(folder))) return { rebased: false, reason: "tests_failed", report };
  if (!(await options.permission(report))) return { rebased: false, reason: "no_permission", report };
  options.signal?.throwIfAborted();
  await keepObjects(repository, rebased, [head, upstreamHead]);
  await checkOut(repository, files, { from: head, to: rebased }, () =>
    moveHead(repository, rebased, head, "rebase by an agent"),
  );
  return { rebased: true, oldHead: head, head: rebased };
}

/** The new head, in the temporary git folder; `undefined` when a commit does not apply. */
async function rebaseApart(
  repository: GitRepository,
  folder: string,
  [head, upstreamHead]: readonly [string, string],
  committer: CommitAuthor,
): Promise<string | undefined> {
  const { GIT_COMMITTER_NAME = "", GIT_COMMITTER_EMAIL = "" } = identityOf(committer);
  const environment = { GIT_WORK_TREE: folder, GIT_COMMITTER_NAME, GIT_COMMITTER_EMAIL };
  const base = (await mergeBase(repository, head, upstreamHead)) ?? "";
  await repository.objects(["update-ref", "--no-deref", "HEAD", head], { environment });
  await repository.objects(["read-tree", "-u", "--reset", head], { environment });
  const args = ["-C", folder, "rebase", "--quiet", "--no-autostash", "--no-verify", "--onto", upstreamHead, base];
  const { exitCode } = await repository.objects(args, { environment, expected: [0, 1] });
  if (exitCode !== 0) return undefined;
  return repository.objectText(["rev-parse", "--verify", "HEAD"], { environment });
}

/** Copies the new commits into the repository. */
async function keepObjects(repository: GitRepository, commit: string, known: readonly string[]): Promise<void> {
  const input = [commit, ...known.map((id) => `^${id}`), ""].join("\n");
  const pack = (await repository.objects(["pack-objects", "--revs", "--stdout", "--quiet"], { input })).output;
  await repository.objects(["unpack-objects", "-q"], { input: pack, keep: true });
  if ((await commitOf(repository, "HEAD")) === undefined) throw new GitError("rebase", "HEAD is gone");
}

/**
 * {@link rebaseIfSafe} in a run that `Drift` watches. It detects rewritten history by the upstream head that the run knows,
 * and marks the upstream changes as `rebased`. If the run stops between the rebase and the next checkpoint, that mark is
 * lost, and the resumed run finds nothing to rebase.
 *
 * @throws InvalidInputError, GitError
 */
export async function rebaseInRun(
  context: AgentContext,
  options: Omit<RebaseOptions, "knownUpstreamHead" | "signal">,
): Promise<RebaseResult> {
  checkSchema(rebaseInRunSchema, options, "options of the rebase");
  const known = context.storage.get(versionTrackerKey);
  const result = await rebaseIfSafe({ ...options, knownUpstreamHead: knownHeadOf(known), signal: context.signal });
  if (known && result.rebased)
    context.storage.set(versionTrackerKey, { ...settleAll(known, "rebased"), current_head: result.head });
  return result;
}

/**
 * Moves the work tree and its index from one commit to another, byte for byte. It checks every file before it writes the
 * first one: a single file that differs from `from` stops the checkout.
 *
 * @param moveHead called after all checks; if it throws, nothing has changed.
 */
export async function checkOut(
  repository: GitRepository,
  files: WorkspaceFiles,
  { from, to }: { readonly from: string; readonly to: string },
  moveHead: () => Promise<void>,
): Promise<void> {
  const changes = await changedFiles(repository, from, to);
  for (const change of changes) await assertAsItWas(repository, files, change);
  await moveHead();
  for (const change of changes) await put(repository, files, change);
  await updateIndex(repository, repository.indexFile, changes.map(entryAfter));
}

async function assertAsItWas(
  repository: GitRepository,
  files: WorkspaceFiles,
  { path, before }: ChangedFile,
): Promise<void> {
  const found = await files.read(relativePath(path));
  const now = found.kind === "file" ? await objectOf(repository, found.content) : undefined;
  const isLink = found.kind === "link" && (await objectOf(repository, Buffer.from(found.state.target))) === before;
  if ((found.kind === "other" || now !== before) && !isLink)
    throw new GitError("rebase", `${JSON.stringify(path)} was changed meanwhile`);
}

async function put(
  repository: GitRepository,
  files: WorkspaceFiles,
  { path, after, mode }: ChangedFile,
): Promise<void> {
  const at = relativePath(path);
  if (after === undefined) return files.put(at, undefined);
  const content = (await repository.objects(["cat-file", "blob", after])).output;
  if (mode === "120000") return files.put(at, { kind: "link", target: content.toString() });
  const state = { kind: "file", hash: nodeSha256.hex(content), bytes: content.length } as const;
  return files.put(at, { ...state, mode: mode === "100755" ? 0o755 : 0o644 }, content);
}
