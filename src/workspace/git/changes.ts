import { FileAccessError } from "../../errors/workspace/FileAccessError.ts";
import type { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import type { FoundFile } from "../files/readFile.ts";
import type { GitRepository } from "./GitRepository.ts";
import { checkedId } from "./refName.ts";

/** The id that git writes for "no file". */
const nothing = /^0+$/;
/** The mode of a submodule, whose object is a commit of another repository. */
export const submodule = "160000";

/** A changed file, with the object ids of both contents; `undefined` where there is no file. */
export interface ChangedFile {
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
  /** The git mode after the change, such as `100644`. */
  readonly mode: string;
  /** Set if one side is the commit of a submodule: on both sides, or the other one has nothing, or a file. */
  readonly submodule?: "whole" | "replaced";
}

/** The files and submodules that differ between two commits; a renamed file counts as two. */
export async function changedFiles(
  repository: GitRepository,
  from: string,
  to: string,
): Promise<readonly ChangedFile[]> {
  const args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", checkedId(from), checkedId(to)];
  const fields = (await repository.objects(args)).output.toString().split("\0");
  const files: ChangedFile[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [oldMode = "", mode = "", before = "", after = ""] = (fields[at] ?? "").slice(1).split(" ");
    const modes = [oldMode, mode].filter((each) => !nothing.test(each));
    const kind = modes.every((each) => each === submodule) ? "whole" : "replaced";
    files.push({
      path: fields[at + 1] ?? "",
      before: objectIn(before),
      after: objectIn(after),
      mode,
      ...(modes.includes(submodule) && { submodule: kind }),
    });
  }
  return files;
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

/**
 * The differences between two contents, in lines of the first. A new, deleted or binary file differs as a whole, and so does
 * one whose content a partial clone has not fetched.
 */
export async function hunksBetween(
  repository: GitRepository,
  before: string | undefined,
  after: string | undefined,
): Promise<readonly Hunk[]> {
  if (before === after) return [];
  if (before === undefined || after === undefined) return [wholeFile];
  const args = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--unified=0"];
  const ids = [checkedId(before), checkedId(after)];
  const { exitCode, output } = await repository.objects([...args, ...ids], { expected: [0, 128] });
  return exitCode === 0 ? hunksIn(output.toString()) : [wholeFile];
}

function objectIn(id: string): string | undefined {
  return nothing.test(id) ? undefined : checkedId(id);
}

/** The lines of the older file that a change replaces: `count` lines from line `start`, counted from 1. With 0 lines it adds after that line. */
export interface Hunk {
  readonly start: number;
  readonly count: number;
}

/** All lines of a file. */
export const wholeFile: Hunk = { start: 0, count: Number.POSITIVE_INFINITY };

/** The hunks of a diff of one file without context. A difference that is not shown by lines counts as the whole file. */
export function hunksIn(diff: string): readonly Hunk[] {
  const heads = [...diff.matchAll(/^@@ -([0-9]+)(?:,([0-9]+))? \+[0-9,]+ @@/gm)];
  if (heads.length === 0) return diff === "" ? [] : [wholeFile];
  return heads.map(([, start, count]) => ({ start: Number(start), count: Number(count ?? 1) }));
}

/** Whether two changes of one file replace a common line or are adjacent, so that a merge conflicts. */
export function meet(one: Hunk, other: Hunk): boolean {
  const [first, firstEnd] = edges(one);
  const [second, secondEnd] = edges(other);
  return first <= secondEnd && second <= firstEnd;
}

/** The gaps between lines at which a change begins and ends. */
function edges({ start, count }: Hunk): readonly [number, number] {
  return count === 0 ? [start, start] : [start - 1, start - 1 + count];
}

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
  const nothing = repository.nullId;
  const lines = entries.map(({ path, object }) => `${object?.mode ?? "0"} ${object?.id ?? nothing}\t${path}\0`);
  const environment = { GIT_INDEX_FILE: indexFile, GIT_WORK_TREE: repository.root };
  await repository.objects(["update-index", "-z", "--index-info"], { input: lines.join(""), environment, keep: true });
}

function modeOf(found: FoundFile & { readonly kind: "file" | "link" }): string {
  if (found.kind === "link") return "120000";
  return found.state.kind === "file" && (found.state.mode & 0o100) !== 0 ? "100755" : "100644";
}
