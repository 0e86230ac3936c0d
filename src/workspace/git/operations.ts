import { stat } from "node:fs/promises";
import { GitError } from "../../errors/workspaceErrors.ts";
import type { GitRepository } from "./GitRepository.ts";

const operations = new Map([
  ["MERGE_HEAD", "a merge"],
  ["CHERRY_PICK_HEAD", "a cherry-pick"],
  ["REVERT_HEAD", "a revert"],
  // Exists between the commits of a multi-commit operation.
  ["sequencer", "a cherry-pick or revert"],
  ["rebase-merge", "a rebase"],
  ["rebase-apply", "a rebase"],
]);

/** Returns the operation in progress, such as "a merge", or `undefined`. */
export async function operationInProgress(repository: GitRepository): Promise<string | undefined> {
  for (const [name, operation] of operations)
    if ((await stat(repository.gitPath(name)).catch(() => undefined)) !== undefined) return operation;
  const environment = { GIT_INDEX_FILE: await repository.copyOfIndex() };
  const { output } = await repository.objects(["ls-files", "--unmerged", "-z"], { environment });
  return output.length > 0 ? "a merge" : undefined;
}

/** @param command the intended command, for the message @throws GitError */
export async function assertNothingInProgress(repository: GitRepository, command: string): Promise<void> {
  const operation = await operationInProgress(repository);
  if (operation === undefined) return;
  throw new GitError(command, `${operation} is in progress here; finish or abort it first`);
}
