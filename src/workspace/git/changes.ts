import { join } from "node:path";
import type { GitRepository } from "./GitRepository.ts";
import { type Hunk, hunksIn, wholeFile } from "./Hunk.ts";
import { checkedId } from "./refName.ts";

/** What stands for "no file" in the place of an object. */
const nothing = /^0+$/;
const submodule = "160000";

/** Two contents of a file, by the ids of their objects; `undefined` where there was none. */
export interface ChangedFile {
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
  /** What kind of file it is after the change, as git writes it, such as `100644`. */
  readonly mode: string;
}

/** The files that differ between two commits; a renamed file is two. Submodules are left out. */
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
 * The files of the work tree that differ from a commit, or that no commit has and `.gitignore` does not name. Each file is
 * looked at anew, its bytes as they are; the repository's own index and settings have no say.
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

/** The object of a content, made for as long as the action takes. */
export async function objectOf(repository: GitRepository, content: Uint8Array): Promise<string> {
  const { output } = await repository.objects(["hash-object", "-w", "--stdin", "--no-filters"], { input: content });
  return checkedId(output.toString().trim());
}

/** The object of a file in a commit; `undefined` when the commit has no such file. */
export async function objectAt(repository: GitRepository, commit: string, path: string): Promise<string | undefined> {
  const { output } = await repository.objects(["ls-tree", "-z", "--full-tree", checkedId(commit), "--", path]);
  const [entry = ""] = output.toString().split("\0");
  const [about = "", name] = entry.split("\t");
  const [, type, id] = about.split(" ");
  return name === path && type === "blob" ? checkedId(id ?? "") : undefined;
}

/** Where two contents differ, in lines of the first. A file that came, went, or is binary differs as a whole. */
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
