import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import { type FileState, isSameFile } from "../../checkpoint/data/FileChange.ts";
import { GitError } from "../../errors/workspaceErrors.ts";
import { forEachAtOnce, together } from "../../internal/together.ts";
import { filesAtOnce, type WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import { GitRepository } from "../git/GitRepository.ts";
import { type GitChange, gitChanges } from "../git/gitChanges.ts";
import { type FileVersions, hunksOf, wholeFile } from "../git/hunks.ts";
import { NewBlobs } from "../git/blobs.ts";
import { commitOf, commitsBetween, isAncestor, isCutOff, lacksObjects, mergeBase, upstreamOf } from "../git/history.ts";
import { localChanges } from "../git/localChanges.ts";
import { type CommonFile, type DriftReport, driftSeverity } from "./DriftReport.ts";

/** Options of {@link checkDrift}. */
export interface DriftQuestion {
  readonly files: WorkspaceFiles;
  /** Defaults to the upstream of the current branch, or to `origin/main` without an upstream. */
  readonly upstream?: string | undefined;
  /** The upstream head at the last check. Omitted for the first check. */
  readonly knownUpstreamHead?: string | undefined;
  /** The last states of files that the workspace wrote. Their changes count as changes of the agent. */
  readonly left?: LeftFiles | undefined;
  /** Like `left`, for writes since the last checkpoint. Defaults to no files. */
  readonly unsaved?: LeftFiles | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Compares a repository with its last fetched upstream and finds changes of others. Runs no program of the repository,
 * does not fetch, and changes no data.
 *
 * @throws GitError
 */
export function checkDrift(question: DriftQuestion): Promise<DriftReport> {
  return GitRepository.with(question.files.root, (repository) => findDrift(repository, question), question.signal);
}

/** Runs {@link checkDrift} in an open repository. Ignores files outside the opened directory. */
export async function findDrift(repository: GitRepository, question: DriftQuestion): Promise<DriftReport> {
  const [upstream, head] = await together(question.upstream ?? upstreamOf(repository), commitOf(repository, "HEAD"));
  const upstreamHead = await commitOf(repository, upstream);
  if (upstreamHead === undefined && question.upstream !== undefined)
    throw new GitError(
      "rev-parse",
      `there is no commit "${upstream}", the configured upstream: correct it, or fetch it first`,
    );
  const fetchedAt = await repository.fetchedAt();
  const [changed, histories] = await together(
    head === undefined ? [] : localChanges(repository, head),
    head === undefined || upstreamHead === undefined
      ? undefined
      : compareHistories(repository, [head, upstreamHead], question.knownUpstreamHead),
  );
  const local = within(repository, changed, (path) => path);
  return {
    ...(head !== undefined && { head }),
    upstream,
    ...(upstreamHead !== undefined && { upstreamHead }),
    ...(fetchedAt !== undefined && { fetchedAt: new Date(fetchedAt).toISOString() }),
    localFiles: await notLeftByWorkspace(local.map(pathWithin(repository)), question),
    ...(histories ? await compareFiles(repository, histories, local, question.files) : unrelated),
  };
}

function within<Item>(
  { prefix }: GitRepository,
  items: readonly Item[],
  pathOf: (item: Item) => string,
): readonly Item[] {
  return prefix === "" ? items : items.filter((item) => pathOf(item).startsWith(prefix));
}

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

/** The common base of two histories and the changes of each side. */
interface Histories extends Pick<DriftReport, "commitsBehind" | "rewritten"> {
  /** Omitted if there is no common commit, or if the clone does not have it. */
  readonly sides?: { readonly ours: readonly GitChange[]; readonly theirs: readonly GitChange[] };
}

async function compareHistories(
  repository: GitRepository,
  [head, upstreamHead]: readonly [string, string],
  known: string | undefined,
): Promise<Histories> {
  const [commitsBehind, isKnown, found] = await together(
    commitsBetween(repository, head, upstreamHead),
    known === undefined || isAncestor(repository, known, upstreamHead),
    mergeBase(repository, head, upstreamHead),
  );
  // In a shallow clone, a missing common base does not prove that the history was rewritten.
  const rewritten = (!isKnown || found === undefined) && !(await isCutOff(repository, upstreamHead));
  const base = found ?? (rewritten ? undefined : await baseOfCutOff(repository, head, known));
  if (base === undefined) return { commitsBehind, rewritten };
  const sides = await sidesSince(repository, base, [head, upstreamHead]);
  return { commitsBehind, rewritten, ...(sides && { sides }) };
}

/** Returns `undefined` if a partial clone lacks the trees. */
async function sidesSince(
  repository: GitRepository,
  base: string,
  [head, upstreamHead]: readonly [string, string],
): Promise<Histories["sides"]> {
  try {
    const [ours, theirs] = await together(
      gitChanges(repository, base, head),
      gitChanges(repository, base, upstreamHead),
    );
    return { ours, theirs };
  } catch (error) {
    if (await lacksObjects(repository, ["--no-walk", base, head, upstreamHead])) return undefined;
    throw error;
  }
}

async function compareFiles(
  repository: GitRepository,
  { commitsBehind, rewritten, sides }: Histories,
  local: readonly string[],
  files: WorkspaceFiles,
): Promise<Sides> {
  if (!sides)
    return { ...unrelated, commitsBehind, rewritten, severity: commitsBehind > 0 || rewritten ? "high" : "none" };
  const byPath = ({ path }: GitChange): string => path;
  const theirs = within(repository, sides.theirs, byPath);
  const ours = new Map(sides.ours.map((file) => [file.path, file]));
  const isLocal = new Set(local);
  const both = theirs
    .map((file): ChangedByBoth => ({ theirs: file, ours: ours.get(file.path), isLocal: isLocal.has(file.path) }))
    .filter((file) => file.ours !== undefined || file.isLocal);
  const common = await commonFiles(repository, both, files);
  return {
    commitsBehind,
    rewritten,
    upstreamFiles: theirs.map(byPath).map(pathWithin(repository)),
    conflictingFiles: common.map(({ path }) => path),
    severity: driftSeverity(commitsBehind, common),
  };
}

/** Returns the upstream commit of the last check as a base for shallow clones, if `head` contains this commit. */
async function baseOfCutOff(
  repository: GitRepository,
  head: string,
  known: string | undefined,
): Promise<string | undefined> {
  return known !== undefined && (await isAncestor(repository, known, head)) ? known : undefined;
}

interface ChangedByBoth {
  readonly theirs: GitChange;
  readonly ours: GitChange | undefined;
  readonly isLocal: boolean;
}

async function commonFiles(
  repository: GitRepository,
  changed: readonly ChangedByBoth[],
  files: WorkspaceFiles,
): Promise<readonly CommonFile[]> {
  const ours = await ourVersions(repository, changed, files);
  const hunks = await hunksOf(
    repository,
    [...ours].flatMap(([{ theirs }, versions]) => [theirs, versions]),
  );
  return changed.map((file) => {
    const path = pathWithin(repository)(file.theirs.path);
    const own = ours.get(file);
    if (own === undefined) return commonSubmodule(path, file);
    return { path, ours: hunks.get(own) ?? [wholeFile], theirs: hunks.get(file.theirs) ?? [wholeFile] };
  });
}

/** Returns the object ids of the common and the local content of each file. Submodules have no contents. */
async function ourVersions(
  repository: GitRepository,
  changed: readonly ChangedByBoth[],
  files: WorkspaceFiles,
): Promise<ReadonlyMap<ChangedByBoth, FileVersions>> {
  const versions = new Map<ChangedByBoth, FileVersions>();
  const blobs = new NewBlobs(repository);
  await forEachAtOnce(changed, filesAtOnce, async (file) => {
    const { theirs, ours, isLocal } = file;
    if (theirs.submodule !== undefined || ours?.submodule !== undefined) return;
    const after = isLocal ? await objectInWorkTree(blobs, files, pathWithin(repository)(theirs.path)) : ours?.after;
    versions.set(file, { before: theirs.before, after });
  });
  await blobs.store();
  return versions;
}

async function objectInWorkTree(blobs: NewBlobs, files: WorkspaceFiles, path: string): Promise<string | undefined> {
  const found = await files.read(path).catch(() => undefined);
  return found?.kind === "file" ? blobs.add(found.content) : undefined;
}

function commonSubmodule(path: string, { theirs, ours }: ChangedByBoth): CommonFile {
  const isSame = ours !== undefined && ours.after === theirs.after;
  return { path, ours: isSame ? [] : [wholeFile], theirs: [wholeFile] };
}

async function notLeftByWorkspace(
  local: readonly string[],
  { files, left, unsaved }: DriftQuestion,
): Promise<readonly string[]> {
  const own = new Set<string>();
  await forEachAtOnce(local, filesAtOnce, async (path) => {
    if ((await isLeftByWorkspace(path, left, files)) || (await isLeftByWorkspace(path, unsaved, files))) own.add(path);
  });
  return local.filter((path) => !own.has(path));
}

/** Files in the state that the workspace left, by path. `undefined` for a deleted file. */
export type LeftFiles = ReadonlyMap<string, FileState | undefined>;

/** Returns whether the agent made the change of a file: the file is as the workspace left it. */
async function isLeftByWorkspace(path: string, left: LeftFiles | undefined, files: WorkspaceFiles): Promise<boolean> {
  if (!left?.has(path)) return false;
  const found = await files.read(path).catch(() => undefined);
  if (found === undefined || found.kind === "other") return false;
  return isSameFile(found.kind === "missing" ? undefined : found.state, left.get(path));
}

/**
 * Returns the files left by the workspace on the path to the newest checkpoint. Each checkpoint lists only changes
 * since its parent. `checkpoints` are oldest first.
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
