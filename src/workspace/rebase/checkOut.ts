import { GitError } from "../../errors/workspace/GitError.ts";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import { relativePath } from "../files/relativePath.ts";
import type { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import { changedFiles, objectOf, type ChangedFile } from "../git/changes.ts";
import type { GitRepository } from "../git/GitRepository.ts";
import { entryAfter, updateIndex } from "../git/treeEntries.ts";

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
