import type { FileState } from "../../checkpoint/data/FileChange.ts";
import { GitError } from "../../errors/workspaceErrors.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import { together } from "../../internal/together.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import { type FoundFile, isDirectory, stateOf as stateIn, textIn, withoutContent } from "../files/readFile.ts";
import { foldersAbove, relativePath } from "../files/relativePath.ts";
import { inPhases } from "../files/inPhases.ts";
import { executableMode } from "../files/FileNote.ts";
import { type FileReplacement, refusalIn, type WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import { contentsOf, inGroups, largestBlob, sizesOf, blobId } from "../git/blobs.ts";
import { type GitChange, gitChanges, entryAfter } from "../git/gitChanges.ts";
import { moveHead } from "../git/commitFiles.ts";
import { type GitRepository, isOn, userSettings } from "../git/GitRepository.ts";
import type { IndexLock } from "../git/IndexLock.ts";

/** A work tree and the lock of its index. */
export interface CheckOutTarget {
  readonly files: WorkspaceFiles;
  readonly lock: IndexLock;
}

/**
 * Moves the branch, the work tree and its index to another commit, byte for byte. First fails if a file differs from
 * `from`. Leaves the work trees of submodules.
 *
 * @throws GitError. The field `changed` says which steps were done.
 */
export async function checkOut(
  repository: GitRepository,
  { files, lock }: CheckOutTarget,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  const changes = await gitChanges(repository, from, to);
  const [known, groups] = await together(foundBefore(repository, files, changes), groupsOf(repository, changes));
  repository.startChange();
  await lock.stayAfterKill();
  await moveHead(repository, { from, to, why: "rebase by an agent" });
  let written = 0;
  try {
    for (const group of groups) {
      const contents = await contentsOf(repository, group.flatMap(blobAfter));
      await inPhases(group, async (change, phases) => {
        const found = known.get(change);
        for (const folder of found?.folders ?? []) await files.removeEmptyFolder(folder);
        await put(files, change, { expected: found?.state, content: contents.get(change.after ?? ""), phases });
        written++;
      });
    }
    await files.sync(changes.map(({ path }) => path));
    await lock.update(changes.map(entryAfter));
  } catch (error) {
    const files =
      written === changes.length ? "all files are written" : `${written} of ${changes.length} files are written`;
    const changed = `The branch was moved from ${from} to ${to}, and ${files}. The index is as it was: \`git status\` shows what is missing.`;
    throw new GitError("rebase", error instanceof GitError ? error.reason : reasonOf(error), { cause: error, changed });
  }
}

/** The current content at the path of a changed file. */
interface FoundBefore {
  /** `undefined` if the file does not exist. */
  readonly state?: FileState;
  /** The directories to remove, innermost first, if a directory is in the way. */
  readonly folders?: readonly string[];
}

/** Reads the current files. Throws if a file differs from the commit, or if another file blocks a new path. */
async function foundBefore(
  repository: GitRepository,
  files: WorkspaceFiles,
  changes: readonly GitChange[],
): Promise<ReadonlyMap<GitChange, FoundBefore>> {
  const known = new Map<GitChange, FoundBefore>();
  const removed = new Set(changes.filter(({ after }) => after === undefined).map(({ path }) => path));
  const paths = changes.map((change) => [pathOf(change), change] as const);
  const byPath = new Map(paths.filter(([, change]) => change.submodule === undefined));
  const entries = new Map<string, FoundFile & { readonly blob: string | undefined }>();
  await files.lookAtAll(byPath.keys(), (path, found) =>
    entries.set(path, { ...withoutContent(found), blob: blobOf(repository, found) }),
  );
  let otherMode: GitChange | undefined;
  for (const [at, change] of byPath) {
    const { blob, ...found } = entries.get(at) ?? { kind: "missing", blob: undefined };
    assertReplaceable(at, found, removed);
    const isFolder = isDirectory(found) && change.before === undefined;
    const folders = isFolder ? await leftFolders(files, at, removed) : undefined;
    if (!folders && blob !== change.before) throw changedMeanwhile(change);
    if (hasOtherMode(found, change)) otherMode ??= change;
    known.set(change, withoutUndefined({ state: stateIn(found), folders }));
  }
  if (otherMode && isOn(await userSettings(repository), "core.filemode", true)) throw changedMeanwhile(otherMode);
  return known;
}

/** @throws GitError for an entry that cannot be replaced, unless a change removes the file above it */
function assertReplaceable(at: string, found: FoundFile, removed: ReadonlySet<string>): void {
  const isBlocked = found.unreachable !== undefined && !foldersAbove(at).some((above) => removed.has(above));
  const reason = isBlocked ? found.unreachable : found.kind === "other" && !found.folder ? found.reason : undefined;
  if (reason !== undefined) throw new GitError("rebase", `${JSON.stringify(at)} cannot be replaced: it ${reason}`);
}

/** @throws GitError if the workspace does not use the path */
function pathOf({ path }: GitChange): string {
  try {
    return relativePath(path);
  } catch (error) {
    throw new GitError("rebase", `${JSON.stringify(path)} cannot be written: ${refusalIn(error)}`, { cause: error });
  }
}

/** Returns whether git would report the permissions as changed. Git stores one bit: whether a file is executable. */
function hasOtherMode(found: FoundFile, { modeBefore }: GitChange): boolean {
  return found.kind === "file" && isExecutable(found.state.mode) !== (modeBefore === "100755");
}

function isExecutable(mode: number): boolean {
  return (mode & 0o100) !== 0;
}

/** Returns the object id that git would compute for the content. `undefined` if the file does not exist. */
function blobOf(repository: GitRepository, found: FoundFile): string | undefined {
  if (found.kind === "file") return blobId(repository, found.content);
  if (found.kind === "link") return blobId(repository, Buffer.from(found.state.target));
  return found.kind === "missing" ? undefined : "";
}

/** Returns the directories that the deletions leave empty, innermost first. @throws GitError if one has another file */
async function leftFolders(
  files: WorkspaceFiles,
  path: string,
  removed: ReadonlySet<string>,
): Promise<readonly string[]> {
  const folders = new Set([...removed].flatMap(foldersAbove));
  const below = await files.below(path);
  const other = below.find((name) => !removed.has(name) && !folders.has(name));
  if (other !== undefined)
    throw new GitError("rebase", `${JSON.stringify(path)} becomes a file, and ${JSON.stringify(other)} is in its way`);
  return [path, ...below.filter((name) => folders.has(name))].toSorted().reverse();
}

function changedMeanwhile({ path }: GitChange): GitError {
  return new GitError("rebase", `${JSON.stringify(path)} was changed meanwhile`);
}

/** Groups the changes, removals first. A file may replace a directory, and a directory may replace a file. */
async function groupsOf(
  repository: GitRepository,
  changes: readonly GitChange[],
): Promise<readonly (readonly GitChange[])[]> {
  const replaced = changes.find((change) => change.submodule === "replaced");
  if (replaced)
    throw new GitError("rebase", `${JSON.stringify(replaced.path)} is a submodule on one side and a file on the other`);
  const sizes = await sizesOf(repository, changes.flatMap(blobAfter));
  const missing = changes.find((change) => blobAfter(change).some((id) => !sizes.has(id)));
  if (missing)
    throw new GitError("rebase", `the content of ${JSON.stringify(missing.path)} is not here: fetch it first`);
  const large = changes.find((change) => blobAfter(change).some((id) => (sizes.get(id) ?? 0) > largestBlob));
  if (large)
    throw new GitError(
      "rebase",
      `${JSON.stringify(large.path)} is larger than ${largestBlob} bytes, the limit of a rebase`,
    );
  const unnamed = changes.find(({ path }) => path.includes("\uFFFD"));
  if (unnamed) throw new GitError("rebase", `${JSON.stringify(unnamed.path)} has a name that is not UTF-8`);
  const links = changes.filter(({ mode }) => mode === "120000");
  const targets = await contentsOf(repository, links.flatMap(blobAfter));
  const link = links.find(({ after = "" }) => textIn(targets.get(after) ?? new Uint8Array()) === undefined);
  if (link) throw new GitError("rebase", `${JSON.stringify(link.path)} is a link whose target is not UTF-8`);
  const removed = changes.filter(({ after }) => after === undefined);
  const written = changes.filter(({ after }) => after !== undefined);
  return [removed, ...inGroups(written, ({ after = "" }) => sizes.get(after) ?? 0)];
}

/** Returns the object of the new content. Empty for a removed file or a submodule. */
function blobAfter({ after, submodule }: GitChange): readonly string[] {
  return after === undefined || submodule !== undefined ? [] : [after];
}

async function put(
  files: WorkspaceFiles,
  change: GitChange,
  { expected, content, phases }: Pick<FileReplacement, "expected" | "content" | "phases">,
): Promise<void> {
  const at = relativePath(change.path);
  if (change.submodule !== undefined) return putSubmodule(files, at, change.after !== undefined);
  const state = content && stateAfter(change, content, expected);
  const found = await files.replace(at, { expected, state, content, phases });
  if (found) throw changedMeanwhile(change);
}

function stateAfter(change: GitChange, content: Uint8Array, before: FileState | undefined): FileState {
  if (change.mode === "120000") return { kind: "link", target: Buffer.from(content).toString() };
  const { length: bytes } = content;
  return { kind: "file", hash: nodeSha256.hex(content), bytes, mode: modeAfter(change, before) };
}

/** A commit changes one permission only: whether a file is executable. All other permissions stay. */
function modeAfter({ mode, modeBefore }: GitChange, before: FileState | undefined): number {
  const known = before?.kind === "file" ? before.mode : 0o644;
  return before?.kind === "file" && mode === modeBefore ? known : executableMode(known, mode === "100755");
}

/** Creates an empty directory for a submodule that is not checked out. */
async function putSubmodule(files: WorkspaceFiles, at: string, isThere: boolean): Promise<void> {
  if (!isThere) await files.removeEmptyFolder(at);
  else if ((await files.read(at)).kind === "missing") await files.setFolder(at, 0o755);
}
