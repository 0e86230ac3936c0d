import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import { type FileState, isSameFile } from "../../checkpoint/data/FileChange.ts";
import { GitError } from "../../errors/workspace/GitError.ts";
import type { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import { GitRepository } from "../git/GitRepository.ts";
import { type ChangedFile, changedFiles, changedInWorkTree, hunksBetween, objectAt, objectOf } from "../git/changes.ts";
import { commitOf, commitsBetween, isAncestor, mergeBase, upstreamOf } from "../git/history.ts";
import { type CommonFile, type DriftReport, driftSeverity } from "./DriftReport.ts";

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
 * @throws GitError when there is no repository, git is not installed, or the given upstream is unknown here.
 */
export function checkDrift(question: DriftQuestion): Promise<DriftReport> {
  return GitRepository.with(question.files.root, (repository) => look(repository, question), question.signal);
}

async function look(repository: GitRepository, question: DriftQuestion): Promise<DriftReport> {
  const upstream = question.upstream ?? (await upstreamOf(repository));
  const head = await commitOf(repository, "HEAD");
  const upstreamHead = await commitOf(repository, upstream);
  if (upstreamHead === undefined && question.upstream !== undefined)
    throw new GitError(
      "rev-parse",
      `there is no commit "${upstream}", the configured upstream: correct it, or fetch it first`,
    );
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

/** Files as the workspace left them, by path; `undefined` for a deleted file. */
export type LeftFiles = ReadonlyMap<string, FileState | undefined>;

/** Whether a file is as the workspace left it, so that its change is the agent's own. */
export async function isLeftByWorkspace(
  path: string,
  left: LeftFiles | undefined,
  files: WorkspaceFiles,
): Promise<boolean> {
  if (!left?.has(path)) return false;
  const found = await files.read(path).catch(() => undefined);
  if (found === undefined || found.kind === "other") return false;
  return isSameFile(found.kind === "missing" ? undefined : found.state, left.get(path));
}

/**
 * The files as the workspace left them on the path to the newest checkpoint. Each checkpoint lists only the changes since
 * its parent. @param checkpoints oldest first.
 */
export function leftFilesOf(checkpoints: readonly AgentCheckpointData[]): LeftFiles {
  const byId = new Map(checkpoints.map((checkpoint) => [checkpoint.checkpointId, checkpoint]));
  const left = new Map<string, FileState | undefined>();
  for (let at = checkpoints.at(-1); at; at = at.parentId === undefined ? undefined : byId.get(at.parentId)) {
    const { created, modified, deleted } = at.fileChanges;
    for (const { path, after } of [...created, ...modified, ...deleted]) if (!left.has(path)) left.set(path, after);
  }
  return left;
}
