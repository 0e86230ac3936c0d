import { inGroups, sizesOf } from "./blobs.ts";
import type { GitRepository } from "./GitRepository.ts";
import { checkedId } from "./refName.ts";
import { isTooLarge } from "./runGit.ts";

/** The replaced lines of the older file: `count` lines from line `start`, or none after `start`. */
export interface Hunk {
  readonly start: number;
  readonly count: number;
}

export const wholeFile: Hunk = { start: 0, count: Number.POSITIVE_INFINITY };

/** The object ids of two contents of a file. `undefined` means no file. */
export interface FileVersions {
  readonly before: string | undefined;
  readonly after: string | undefined;
}

interface Comparable extends FileVersions {
  readonly before: string;
  readonly after: string;
}

/**
 * Returns the differences between two contents of each file, in lines of the first. New, deleted and binary files, files
 * with a very large difference, and files that a partial clone lacks differ as a whole. The number of git calls does not
 * depend on the number of files.
 */
export async function hunksOf<Versions extends FileVersions>(
  repository: GitRepository,
  files: readonly Versions[],
): Promise<ReadonlyMap<Versions, readonly Hunk[]>> {
  const hunks = new Map<Versions, readonly Hunk[]>(
    files.map((file) => [file, file.before === file.after ? [] : [wholeFile]]),
  );
  const changed = files.filter((file): file is Versions & Comparable => isChanged(file));
  const sizes = await sizesOf(
    repository,
    changed.flatMap(({ before, after }) => [before, after]),
  );
  const present = changed.filter(({ before, after }) => sizes.has(before) && sizes.has(after));
  const bytesOf = ({ before, after }: Comparable): number => (sizes.get(before) ?? 0) + (sizes.get(after) ?? 0);
  for (const group of inGroups(present, bytesOf)) {
    const diffs = await diffsOf(repository, group).catch(unlessTooLarge);
    if (diffs) for (const [at, file] of group.entries()) hunks.set(file, hunksIn(diffs.get(at) ?? ""));
  }
  return hunks;
}

/**
 * Ignores a diff that is too large. Only the diff of a single file can be, because groups are small. @throws all other
 * errors
 */
function unlessTooLarge(error: unknown): undefined {
  if (!isTooLarge(error)) throw error;
}

function isChanged(file: FileVersions): file is Comparable {
  return file.before !== undefined && file.after !== undefined && file.before !== file.after;
}

/** Returns the diffs by file number. Compares two temporary trees that contain only these files. */
async function diffsOf(repository: GitRepository, files: readonly Comparable[]): Promise<ReadonlyMap<number, string>> {
  const tree = (ids: readonly string[]): string =>
    ids.map((id, at) => `100644 blob ${checkedId(id)}\t${at}\n`).join("");
  const input = `${tree(files.map(({ before }) => before))}\n${tree(files.map(({ after }) => after))}`;
  const trees = (await repository.objectText(["mktree", "--batch", "--missing"], { input })).split("\n");
  const args = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--unified=0"];
  const { output } = await repository.objects([...args, ...trees.map(checkedId)]);
  // Content lines cannot match, because each starts with a sign.
  const sections = `\n${output.toString()}`.split("\ndiff --git a/").slice(1);
  return new Map(sections.map((section) => [Number(section.slice(0, section.indexOf(" "))), section]));
}

/** Parses the hunks of a diff without context. A diff without lines counts as the whole file. */
export function hunksIn(diff: string): readonly Hunk[] {
  const heads = [...diff.matchAll(/(?:^|\n)@@ -([0-9]+)(?:,([0-9]+))? \+[0-9,]+ @@/g)];
  if (heads.length === 0) return diff === "" ? [] : [wholeFile];
  return heads.map(([, start, count]) => ({ start: Number(start), count: Number(count ?? 1) }));
}

/** Returns whether two changes of a file overlap or are adjacent, so that a merge conflicts. */
export function meet(one: Hunk, other: Hunk): boolean {
  const [first, firstEnd] = edges(one);
  const [second, secondEnd] = edges(other);
  return first <= secondEnd && second <= firstEnd;
}

/** Returns the gaps between lines where a change starts and ends. */
function edges({ start, count }: Hunk): readonly [number, number] {
  return count === 0 ? [start, start] : [start - 1, start - 1 + count];
}
