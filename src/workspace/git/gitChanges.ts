import { FileAccessError } from "../../errors/workspaceErrors.ts";
import type { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import type { FoundFile } from "../files/readFile.ts";
import type { GitRepository } from "./GitRepository.ts";
import { NewBlobs } from "./blobs.ts";
import { checkedId } from "./refName.ts";
import { splitAtNul } from "./runGit.ts";

const nothing = /^0+$/;
/** The mode of a submodule, whose object is a commit of another repository. */
export const submodule = "160000";

/** A changed file with the object ids of both contents. `undefined` means no file. */
export interface GitChange {
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
  /** The git mode after the change, such as `100644`. */
  readonly mode: string;
  readonly modeBefore: string;
  /** `whole` if no side is a file. `replaced` if one side is a submodule and the other a file. */
  readonly submodule?: "whole" | "replaced";
}

/** Returns the files and submodules that differ between two commits. A renamed file counts as two. */
export async function gitChanges(repository: GitRepository, from: string, to: string): Promise<readonly GitChange[]> {
  const args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", checkedId(from), checkedId(to)];
  const fields = (await repository.objects(args)).output.toString().split("\0");
  const files: GitChange[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [oldMode = "", mode = "", before = "", after = ""] = (fields[at] ?? "").slice(1).split(" ");
    const modes = [oldMode, mode].filter((each) => !nothing.test(each));
    const kind = modes.every((each) => each === submodule) ? "whole" : "replaced";
    files.push({
      path: fields[at + 1] ?? "",
      before: objectIn(before),
      after: objectIn(after),
      mode,
      modeBefore: oldMode,
      ...(modes.includes(submodule) && { submodule: kind }),
    });
  }
  return files;
}

function objectIn(id: string): string | undefined {
  return nothing.test(id) ? undefined : checkedId(id);
}

/** An entry of an index or tree. Without an object the entry is removed. */
export interface TreeEntry {
  readonly path: string;
  readonly object?: { readonly id: string; readonly mode: string; readonly stage?: string };
}

/**
 * Returns the entry of each file with its exact content in the work tree, and stores the contents in the repository.
 *
 * @throws FileAccessError, PathNotAllowedError
 */
export async function entriesOf(
  repository: GitRepository,
  files: WorkspaceFiles,
  paths: readonly string[],
): Promise<readonly TreeEntry[]> {
  const entries: TreeEntry[] = [];
  const blobs = new NewBlobs(repository, true);
  for (const path of paths) {
    const found = await files.read(path);
    if (found.kind === "other") throw new FileAccessError(path, found.reason);
    if (found.kind === "missing") entries.push({ path });
    else {
      const content = found.kind === "link" ? Buffer.from(found.state.target) : found.content;
      entries.push({ path, object: { id: await blobs.add(content), mode: modeOf(found) } });
    }
  }
  await blobs.store();
  return entries;
}

export function entryAfter({ path, after, mode }: GitChange): TreeEntry {
  return { path, ...(after !== undefined && { object: { id: after, mode } }) };
}

/** Sets entries of an index. Other entries are unchanged. */
export async function updateIndex(
  repository: GitRepository,
  indexFile: string,
  entries: readonly TreeEntry[],
): Promise<void> {
  const nothing = repository.nullId;
  const lines = entries.map(({ path, object }) => {
    const stage = object?.stage === undefined ? "" : ` ${object.stage}`;
    return `${object?.mode ?? "0"} ${object?.id ?? nothing}${stage}\t${path}\0`;
  });
  const environment = { GIT_INDEX_FILE: indexFile, GIT_WORK_TREE: repository.root };
  await repository.objects(["update-index", "-z", "--index-info"], { input: lines.join(""), environment, keep: true });
}

function modeOf(found: FoundFile & { readonly kind: "file" | "link" }): string {
  if (found.kind === "link") return "120000";
  return (found.state.mode & 0o100) !== 0 ? "100755" : "100644";
}

/** An entry of an index. An unmerged file has several. */
export interface IndexEntry {
  readonly path: string;
  /** The git mode, such as `100644`. */
  readonly mode: string;
  readonly id: string;
  /** 0, or 1 to 3 for the sides of an unmerged file. */
  readonly stage: string;
  /** Whether a sparse checkout or `skip-worktree` excludes the file from the work tree. */
  readonly isSkipped: boolean;
}

/** Returns all entries of an index. `indexFile` defaults to the index of the work tree. @throws GitError */
export async function indexEntries(repository: GitRepository, indexFile?: string): Promise<readonly IndexEntry[]> {
  const environment = { GIT_INDEX_FILE: indexFile ?? (await repository.copyOfIndex()) };
  const { output } = await repository.objects(["ls-files", "-t", "--stage", "-z"], { environment });
  return splitAtNul(output).map(entryIn);
}

/** Parses an entry such as "H 100644 <id> 0\t<path>". */
function entryIn(text: string): IndexEntry {
  const end = text.indexOf("\t");
  const [tag, mode = "", id = "", stage = "0"] = text.slice(0, end).split(" ");
  return { path: text.slice(end + 1), mode, id, stage, isSkipped: tag === "S" };
}
