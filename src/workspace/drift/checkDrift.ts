import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import { type FileState, isSameFile } from "../../checkpoint/data/FileChange.ts";
import { GitError } from "../../errors/workspace/GitError.ts";
import type { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import { GitRepository } from "../git/GitRepository.ts";
import { type ChangedFile, changedFiles, hunksBetween, objectAt, objectOf, wholeFile } from "../git/changes.ts";
import { commitOf, commitsBetween, isAncestor, isCutOff, mergeBase, upstreamOf } from "../git/history.ts";
import { localChanges } from "../git/localChanges.ts";
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
  /** The same for changes since the last checkpoint. Default: none. */
  readonly unsaved?: LeftFiles | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Compares a repository with its upstream, as last fetched, and finds the changes of others in the work tree. It runs no
 * program that the repository names, fetches nothing, and changes nothing.
 *
 * @throws GitError when there is no repository, git is not installed, or the given upstream is unknown here.
 */
export function checkDrift(question: DriftQuestion): Promise<DriftReport> {
  return GitRepository.with(question.files.root, (repository) => findDrift(repository, question), question.signal);
}

/** {@link checkDrift} in a repository that is open. Files outside of the folder that was opened do not count. */
export async function findDrift(repository: GitRepository, question: DriftQuestion): Promise<DriftReport> {
  const upstream = question.upstream ?? (await upstreamOf(repository));
  const head = await commitOf(repository, "HEAD");
  const upstreamHead = await commitOf(repository, upstream);
  if (upstreamHead === undefined && question.upstream !== undefined)
    throw new GitError(
      "rev-parse",
      `there is no commit "${upstream}", the configured upstream: correct it, or fetch it first`,
    );
  const fetchedAt = await repository.fetchedAt();
  const local = head === undefined ? [] : within(repository, await localChanges(repository, head), (path) => path);
  const sides =
    head === undefined || upstreamHead === undefined
      ? unrelated
      : await compare(repository, [head, upstreamHead], local, question);
  return {
    ...(head !== undefined && { head }),
    upstream,
    ...(upstreamHead !== undefined && { upstreamHead }),
    ...(fetchedAt !== undefined && { fetchedAt: new Date(fetchedAt).toISOString() }),
    localFiles: await notLeftByWorkspace(local.map(pathWithin(repository)), question),
    ...sides,
  };
}

/** What is in the folder that was opened. */
function within<Item>(
  { prefix }: GitRepository,
  items: readonly Item[],
  pathOf: (item: Item) => string,
): readonly Item[] {
  return prefix === "" ? items : items.filter((item) => pathOf(item).startsWith(prefix));
}

/** Paths of the repository as paths of the folder that was opened. */
function pathWithin({ prefix }: GitRepository): (path: string) => string {
  return (path) => path.slice(prefix.length);
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
  [head, upstreamHead]: readonly [string, string],
  local: readonly string[],
  { files, knownUpstreamHead }: DriftQuestion,
): Promise<Sides> {
  const commitsBehind = await commitsBetween(repository, head, upstreamHead);
  const isKnown = knownUpstreamHead === undefined || (await isAncestor(repository, knownUpstreamHead, upstreamHead));
  const found = await mergeBase(repository, head, upstreamHead);
  // In a shallow clone, missing history proves nothing.
  const rewritten = (!isKnown || found === undefined) && !(await isCutOff(repository, upstreamHead));
  const base = found ?? (rewritten ? undefined : await baseOfCutOff(repository, head, knownUpstreamHead));
  if (base === undefined) return { ...unrelated, commitsBehind, rewritten, severity: "high" };
  const byPath = ({ path }: ChangedFile): string => path;
  const theirs = within(repository, await changedFiles(repository, base, upstreamHead), byPath);
  const ours = new Map((await changedFiles(repository, base, head)).map((file) => [file.path, file]));
  const changed = new Set([...ours.keys(), ...local]);
  const both = theirs.filter(({ path }) => changed.has(path));
  const common: CommonFile[] = [];
  for (const file of both) common.push(await commonFile(repository, base, { file, ours: ours.get(file.path) }, files));
  return {
    commitsBehind,
    rewritten,
    upstreamFiles: theirs.map(byPath).map(pathWithin(repository)),
    conflictingFiles: both.map(byPath).map(pathWithin(repository)),
    severity: driftSeverity(commitsBehind, common),
  };
}

/** What both sides have in common, if a shallow clone does not say: the upstream at the last check, if `head` has it. */
async function baseOfCutOff(
  repository: GitRepository,
  head: string,
  known: string | undefined,
): Promise<string | undefined> {
  return known !== undefined && (await isAncestor(repository, known, head)) ? known : undefined;
}

async function commonFile(
  repository: GitRepository,
  base: string,
  { file, ours }: { readonly file: ChangedFile; readonly ours: ChangedFile | undefined },
  files: WorkspaceFiles,
): Promise<CommonFile> {
  const path = pathWithin(repository)(file.path);
  if (file.submodule !== undefined || ours?.submodule !== undefined) return commonSubmodule(path, file, ours);
  const found = await files.read(path).catch(() => undefined);
  const now = found?.kind === "file" ? await objectOf(repository, found.content) : undefined;
  const then = await objectAt(repository, base, file.path);
  return {
    path,
    ours: await hunksBetween(repository, then, now),
    theirs: await hunksBetween(repository, file.before, file.after),
  };
}

function commonSubmodule(path: string, theirs: ChangedFile, ours: ChangedFile | undefined): CommonFile {
  const isSame = ours !== undefined && ours.after === theirs.after;
  return { path, ours: isSame ? [] : [wholeFile], theirs: [wholeFile] };
}

async function notLeftByWorkspace(
  local: readonly string[],
  { files, left, unsaved }: DriftQuestion,
): Promise<readonly string[]> {
  const others: string[] = [];
  for (const path of local)
    if (!(await isLeftByWorkspace(path, left, files)) && !(await isLeftByWorkspace(path, unsaved, files)))
      others.push(path);
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
