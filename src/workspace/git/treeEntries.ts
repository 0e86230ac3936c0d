import type { FoundFile } from "../files/readFile.ts";
import type { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import { FileAccessError } from "../../errors/workspace/FileAccessError.ts";
import { objectOf, type ChangedFile } from "./changes.ts";
import type { GitRepository } from "./GitRepository.ts";

/** A file of an index or tree; without an object the file is not in it. */
export interface TreeEntry {
  readonly path: string;
  readonly object?: { readonly id: string; readonly mode: string };
}

/** The entry of each file as it is in the work tree, byte for byte. @throws FileAccessError, PathNotAllowedError */
export async function entriesOf(
  repository: GitRepository,
  files: WorkspaceFiles,
  paths: readonly string[],
): Promise<readonly TreeEntry[]> {
  const entries: TreeEntry[] = [];
  for (const path of paths) {
    const found = await files.read(path);
    if (found.kind === "other") throw new FileAccessError(path, found.reason);
    if (found.kind === "missing") entries.push({ path });
    else {
      const content = found.kind === "link" ? Buffer.from(found.state.target) : found.content;
      entries.push({ path, object: { id: await objectOf(repository, content, true), mode: modeOf(found) } });
    }
  }
  return entries;
}

/** The entry that a file has after a change. */
export function entryAfter({ path, after, mode }: ChangedFile): TreeEntry {
  return { path, ...(after !== undefined && { object: { id: after, mode } }) };
}

/** Sets entries of an index; other entries stay. */
export async function updateIndex(
  repository: GitRepository,
  indexFile: string,
  entries: readonly TreeEntry[],
): Promise<void> {
  const nothing = "0".repeat(40);
  const lines = entries.map(({ path, object }) => `${object?.mode ?? "0"} ${object?.id ?? nothing}\t${path}\0`);
  const environment = { GIT_INDEX_FILE: indexFile, GIT_WORK_TREE: repository.root };
  await repository.objects(["update-index", "-z", "--index-info"], { input: lines.join(""), environment, keep: true });
}

function modeOf(found: FoundFile & { readonly kind: "file" | "link" }): string {
  if (found.kind === "link") return "120000";
  return found.state.kind === "file" && (found.state.mode & 0o100) !== 0 ? "100755" : "100644";
}
