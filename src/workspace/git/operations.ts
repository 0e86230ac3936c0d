import { stat } from "node:fs/promises";
import { GitError } from "../../errors/workspace/GitError.ts";
import type { GitRepository } from "./GitRepository.ts";

/** What git keeps in its folder while somebody is in the middle of something. */
const operations = new Map([
  ["MERGE_HEAD", "a merge"],
  ["CHERRY_PICK_HEAD", "a cherry-pick"],
  ["REVERT_HEAD", "a revert"],
  // Between two commits of several.
  ["sequencer", "a cherry-pick or revert"],
  ["rebase-merge", "a rebase"],
  ["rebase-apply", "a rebase"],
]);

/** What somebody is in the middle of, such as "a merge"; `undefined`: nothing. */
export async function operationInProgress(repository: GitRepository): Promise<string | undefined> {
  for (const [name, operation] of operations)
    if ((await stat(repository.gitPath(name)).catch(() => undefined)) !== undefined) return operation;
  const environment = { GIT_INDEX_FILE: await repository.copyOfIndex() };
  const { output } = await repository.objects(["ls-files", "--unmerged", "-z"], { environment });
  return output.length > 0 ? "a merge" : undefined;
}

/** @param command what would be done, for the message. @throws GitError */
export async function assertNothingInProgress(repository: GitRepository, command: string): Promise<void> {
  const operation = await operationInProgress(repository);
  if (operation === undefined) return;
  throw new GitError(command, `${operation} is in progress here; finish or abort it first`);
}
