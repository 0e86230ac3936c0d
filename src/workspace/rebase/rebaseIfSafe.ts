import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { GitError } from "../../errors/workspace/GitError.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { abortSignalSchema, functionSchema, nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { checkDrift } from "../drift/checkDrift.ts";
import type { DriftReport } from "../drift/DriftReport.ts";
import { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import { authorSchema, identityOf, moveHead, type CommitAuthor } from "../git/commitFiles.ts";
import { GitRepository } from "../git/GitRepository.ts";
import { commitOf, mergeBase } from "../git/history.ts";
import { commitIdSchema } from "../git/refName.ts";
import { checkOut } from "./checkOut.ts";

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
