import { changedFiles, changedInWorkTree, hunksBetween, objectAt, objectOf, type ChangedFile } from "../git/changes.ts";
import { GitRepository } from "../git/GitRepository.ts";
import { commitOf, commitsBetween, isAncestor, mergeBase, upstreamOf } from "../git/history.ts";
import type { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import type { DriftReport } from "./DriftReport.ts";
import { type CommonFile, driftSeverity } from "./driftSeverity.ts";
import { isLeftByWorkspace, type LeftFiles } from "./LeftFiles.ts";

/** How to check for drift. */
export interface DriftQuestion {
  readonly files: WorkspaceFiles;
  /** Default: the upstream of the branch that is checked out, else `origin/main`. */
  readonly upstream?: string | undefined;
  /** The upstream head of the last check; absent: there was none. */
  readonly knownUpstreamHead?: string | undefined;
  /** Files as the workspace left them, whose changes are the agent's own. Default: none. */
  readonly left?: LeftFiles | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Compares a repository with its upstream, as last fetched, and finds the changes of others in the work tree. It runs no
 * program that the repository names, fetches nothing, and changes nothing.
 *
 * @throws GitError when there is no repository, or git is not installed.
 */
export function checkDrift(question: DriftQuestion): Promise<DriftReport> {
  return GitRepository.with(question.files.root, (repository) => look(repository, question), question.signal);
}

async function look(repository: GitRepository, question: DriftQuestion): Promise<DriftReport> {
  const upstream = question.upstream ?? (await upstreamOf(repository));
  const head = await commitOf(repository, "HEAD");
  const upstreamHead = await commitOf(repository, upstream);
  const fetchedAt = await repository.fetchedAt();
  const local = head === undefined ? [] : await changedInWorkTree(repository, head);
  const sides =
    head === undefined || upstreamHead === undefined
      ? unrelated
      : await compare(repository, head, upstreamHead, local, question);
  return {
    ...(head !== undefined && { head }),
    upstream,
    ...(upstreamHead !== undefined && { upstreamHead }),
    ...(fetchedAt !== undefined && { fetchedAt: new Date(fetchedAt).toISOString() }),
    localFiles: await notLeftByWorkspace(local, question),
    ...sides,
  };
}

type Sides = Pick<DriftReport, "commitsBehind" | "rewritten" | "upstreamFiles" | "conflictingFiles" | "severity">;

const unrelated: Sides = {
  commitsBehind: 0,
  rewritten: false,
  upstreamFiles: [],
  conflictingFiles: [],
  severity: "none",
};

async function compare(
  repository: GitRepository,
  head: string,
  upstreamHead: string,
  local: readonly string[],
  { files, knownUpstreamHead }: DriftQuestion,
): Promise<Sides> {
  const commitsBehind = await commitsBetween(repository, head, upstreamHead);
  const known = knownUpstreamHead === undefined || (await isAncestor(repository, knownUpstreamHead, upstreamHead));
  const base = await mergeBase(repository, head, upstreamHead);
  if (base === undefined) return { ...unrelated, commitsBehind, rewritten: true, severity: "high" };
  const theirs = await changedFiles(repository, base, upstreamHead);
  const ours = new Set([...(await changedFiles(repository, base, head)).map(({ path }) => path), ...local]);
  const both = theirs.filter(({ path }) => ours.has(path));
  const common: CommonFile[] = [];
  for (const file of both) common.push(await commonFile(repository, base, file, files));
  return {
    commitsBehind,
    rewritten: !known,
    upstreamFiles: theirs.map(({ path }) => path),
    conflictingFiles: both.map(({ path }) => path),
    severity: driftSeverity(commitsBehind, common),
  };
}

async function commonFile(
  repository: GitRepository,
  base: string,
  { path, before, after }: ChangedFile,
  files: WorkspaceFiles,
): Promise<CommonFile> {
  const found = await files.read(path).catch(() => undefined);
  const now = found?.kind === "file" ? await objectOf(repository, found.content) : undefined;
  const then = await objectAt(repository, base, path);
  return {
    path,
    ours: await hunksBetween(repository, then, now),
    theirs: await hunksBetween(repository, before, after),
  };
}

async function notLeftByWorkspace(
  local: readonly string[],
  { files, left }: DriftQuestion,
): Promise<readonly string[]> {
  const others: string[] = [];
  for (const path of local) if (!(await isLeftByWorkspace(path, left, files))) others.push(path);
  return others;
}
