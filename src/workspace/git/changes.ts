import { join } from "node:path";
import type { GitRepository } from "./GitRepository.ts";
import { type Hunk, hunksIn, wholeFile } from "./Hunk.ts";
import { checkedId } from "./refName.ts";

/** The id that git writes for "no file". */
const nothing = /^0+$/;
const submodule = "160000";

/** A changed file, with the object ids of both contents; `undefined` where there is no file. */
export interface ChangedFile {
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
  /** The git mode after the change, such as `100644`. */
  readonly mode: string;
}

/** The files that differ between two commits; a renamed file counts as two. Submodules are left out. */
export async function changedFiles(
  repository: GitRepository,
  from: string,
  to: string,
): Promise<readonly ChangedFile[]> {
  const args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", checkedId(from), checkedId(to)];
  const fields = (await repository.objects(args)).output.toString().split("\0");
  const files: ChangedFile[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [, mode = "", before = "", after = ""] = (fields[at] ?? "").split(" ");
    if (fields[at]?.includes(submodule)) continue;
    files.push({ path: fields[at + 1] ?? "", before: objectIn(before), after: objectIn(after), mode });
  }
  return files;
}

/**
 * The files of the work tree that differ from a commit, and those that are neither in it nor ignored. Each file is read
 * again, byte for byte; the index and settings of the repository are not used.
 */
export async function changedInWorkTree(repository: GitRepository, commit: string): Promise<readonly string[]> {
  const environment = {
    GIT_INDEX_FILE: join(repository.scratch, "index"),
    GIT_WORK_TREE: repository.root,
  };
  const paths = async (args: readonly string[]): Promise<string[]> =>
    (await repository.objects(args, { environment })).output
      .toString()
      .split("\0")
      .filter((path) => path !== "");
  await repository.objects(["read-tree", checkedId(commit)], { environment });
  await repository.objects(["update-index", "-q", "--refresh"], { environment, expected: [0, 1] });
  const changed = await paths(["diff-files", "-z", "--name-only", "--no-ext-diff", "--ignore-submodules=all"]);
  const added = await paths(["ls-files", "-z", "--others", "--exclude-standard", "--exclude=/.agent-persistence/"]);
  return [...changed, ...added].toSorted();
}

/** The object id of a content. @param keep writes it to the repository. Default: only for the action. */
export async function objectOf(repository: GitRepository, content: Uint8Array, keep = false): Promise<string> {
  const args = ["hash-object", "-w", "--stdin", "--no-filters"];
  return checkedId(await repository.objectText(args, { input: content, keep }));
}

/** The object id of a file in a commit; `undefined` when the commit has no such file. */
export async function objectAt(repository: GitRepository, commit: string, path: string): Promise<string | undefined> {
  const { output } = await repository.objects(["ls-tree", "-z", "--full-tree", checkedId(commit), "--", path]);
  const [entry = ""] = output.toString().split("\0");
  const [about = "", name] = entry.split("\t");
  const [, type, id] = about.split(" ");
  return name === path && type === "blob" ? checkedId(id ?? "") : undefined;
}

/** The differences between two contents, in lines of the first. A new, deleted or binary file differs as a whole. */
export async function hunksBetween(
  repository: GitRepository,
  before: string | undefined,
  after: string | undefined,
): Promise<readonly Hunk[]> {
  if (before === after) return [];
  if (before === undefined || after === undefined) return [wholeFile];
  const args = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--unified=0"];
  const { output } = await repository.objects([...args, checkedId(before), checkedId(after)]);
  return hunksIn(output.toString());
}

function objectIn(id: string): string | undefined {
  return nothing.test(id) ? undefined : checkedId(id);
}
