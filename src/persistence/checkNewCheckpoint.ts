import { CheckpointExistsError } from "../errors/CheckpointExistsError.ts";
import type { Journal } from "../journal/Journal.ts";

/** @throws CheckpointExistsError when an id or a version cannot be given to a new checkpoint. */
export function checkNewCheckpoint(
  journal: Journal,
  { checkpointId, version = 0 }: { readonly checkpointId?: string; readonly version?: number },
): void {
  const { agentId, nextVersion } = journal;
  const refuse = (reason: string): never => {
    throw new CheckpointExistsError(agentId, checkpointId ?? `version ${version}`, reason);
  };
  if (checkpointId !== undefined) {
    if (checkpointId.length === 0 || checkpointId.length > 256) refuse("an id has 1 to 256 characters");
    if (/^\d+-\d+$/.test(checkpointId))
      refuse("ids of the form <number>-<number> are given to checkpoints without one");
    if (journal.named.has(checkpointId)) refuse("a checkpoint with this id is there already");
  }
  if (!Number.isSafeInteger(version) || version < 0) refuse("a version is a whole number, 0 to have one assigned");
  if (version !== 0 && version < nextVersion) refuse(`a version is above the last, ${nextVersion - 1}`);
}
