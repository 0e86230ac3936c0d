import type { FoundFile } from "../files/readFile.ts";
import type { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import { FileAccessError } from "../../errors/workspace/FileAccessError.ts";
import type { ChangedFile } from "./changes.ts";
import type { GitRepository } from "./GitRepository.ts";
import { checkedId } from "./refName.ts";

/** A file of an index or tree; without an object it is not in there. */
export interface TreeEntry {
  readonly path: string;
  readonly object?: { readonly id: string; readonly mode: string };
}

/** The entry of each file as it is in the work tree, its bytes as they are. @throws FileAccessError, PathNotAllowedError */
export async function entriesOf(
  repository: GitRepository,
  files: WorkspaceFiles,
  paths: readonly string[],
): Promise<readonly TreeEntry[]> {
  const entries: TreeEntry[] = [];
  for (const path of paths) {
    const found = await files.read(path);
    if (found.kind === "other") throw new FileAccessError(path, found.reason);
    entries.push(found.kind === "missing" ? { path } : { path, object: await objectOf(repository, found) });
  }
  return entries;
}

/** The entry that a file has after a change. */
export function entryAfter({ path, after, mode }: ChangedFile): TreeEntry {
  return { path, ...(after !== undefined && { object: { id: after, mode } }) };
}

/** Puts entries into an index, and leaves the others as they are. */
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

async function objectOf(
  repository: GitRepository,
  found: FoundFile & { readonly kind: "file" | "link" },
): Promise<NonNullable<TreeEntry["object"]>> {
  const input = found.kind === "link" ? Buffer.from(found.state.target) : found.content;
  const mode = found.kind === "link" ? "120000" : modeOf(found);
  const { output } = await repository.objects(["hash-object", "-w", "--stdin", "--no-filters"], { input, keep: true });
  return { id: checkedId(output.toString().trim()), mode };
}

function modeOf({ state }: FoundFile & { readonly kind: "file" }): string {
  return state.kind === "file" && (state.mode & 0o100) !== 0 ? "100755" : "100644";
}
