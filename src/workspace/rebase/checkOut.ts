import { GitError } from "../../errors/workspace/GitError.ts";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import { relativePath } from "../files/relativePath.ts";
import type { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import { type ChangedFile, changedFiles, entryAfter, objectOf } from "../git/changes.ts";
import { moveHead } from "../git/commitFiles.ts";
import type { GitRepository } from "../git/GitRepository.ts";
import type { IndexLock } from "../git/IndexLock.ts";

/** A work tree and the lock of its index. */
export interface CheckOutTarget {
  readonly files: WorkspaceFiles;
  readonly lock: IndexLock;
}

/**
 * Moves the branch, the work tree and its index from one commit to another, byte for byte. It checks every file before it
 * changes anything: a single one that differs from `from` stops it. The work trees of submodules stay.
 *
 * @throws GitError, whose `changed` says how far it came.
 */
export async function checkOut(
  repository: GitRepository,
  { files, lock }: CheckOutTarget,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  const changes = await changedFiles(repository, from, to);
  for (const change of changes) await assertAsItWas(repository, files, change);
  await moveHead(repository, to, from, "rebase by an agent");
  let written = 0;
  try {
    for (const change of changes) {
      await put(repository, files, change);
      written++;
    }
    await lock.update(changes.map(entryAfter));
  } catch (error) {
    const files =
      written === changes.length ? "all files are written" : `${written} of ${changes.length} files are written`;
    const changed = `The branch was moved from ${from} to ${to}, and ${files}. The index is as it was: \`git status\` shows what is missing.`;
    throw new GitError("rebase", messageOf(error), { cause: error, changed });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function assertAsItWas(
  repository: GitRepository,
  files: WorkspaceFiles,
  { path, before, submodule }: ChangedFile,
): Promise<void> {
  if (submodule === "whole") return;
  if (submodule === "replaced")
    throw new GitError("rebase", `${JSON.stringify(path)} is a submodule on one side and a file on the other`);
  const found = await files.read(relativePath(path));
  const now = found.kind === "file" ? await objectOf(repository, found.content) : undefined;
  const isLink = found.kind === "link" && (await objectOf(repository, Buffer.from(found.state.target))) === before;
  if ((found.kind === "other" || now !== before) && !isLink)
    throw new GitError("rebase", `${JSON.stringify(path)} was changed meanwhile`);
}

async function put(
  repository: GitRepository,
  files: WorkspaceFiles,
  { path, after, mode, submodule }: ChangedFile,
): Promise<void> {
  const at = relativePath(path);
  if (submodule !== undefined) return putSubmodule(files, at, after !== undefined);
  if (after === undefined) return files.put(at, undefined);
  const content = (await repository.objects(["cat-file", "blob", after])).output;
  if (mode === "120000") return files.put(at, { kind: "link", target: content.toString() });
  const state = { kind: "file", hash: nodeSha256.hex(content), bytes: content.length } as const;
  return files.put(at, { ...state, mode: mode === "100755" ? 0o755 : 0o644 }, content);
}

/** A submodule that is not checked out is an empty folder. */
async function putSubmodule(files: WorkspaceFiles, at: string, isThere: boolean): Promise<void> {
  if (!isThere) await files.removeEmptyFolder(at);
  else if ((await files.read(at)).kind === "missing") await files.setFolder(at, 0o755);
}
