import type { GitRepository } from "./GitRepository.ts";

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

/**
 * Returns all entries of an index. `indexFile` defaults to the index of the work tree.
 *
 * @throws GitError
 */
export async function indexEntries(repository: GitRepository, indexFile?: string): Promise<readonly IndexEntry[]> {
  const environment = { GIT_INDEX_FILE: indexFile ?? (await repository.copyOfIndex()) };
  const { output } = await repository.objects(["ls-files", "-t", "--stage", "-z"], { environment });
  const entries = output.toString().split("\0");
  return entries.filter((entry) => entry !== "").map(entryIn);
}

/** Parses an entry such as "H 100644 <id> 0\t<path>". */
function entryIn(text: string): IndexEntry {
  const end = text.indexOf("\t");
  const [tag, mode = "", id = "", stage = "0"] = text.slice(0, end).split(" ");
  return { path: text.slice(end + 1), mode, id, stage, isSkipped: tag === "S" };
}
