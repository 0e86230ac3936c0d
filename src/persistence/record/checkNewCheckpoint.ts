import { CheckpointExistsError } from "../../errors/checkpoint/CheckpointExistsError.ts";
import { InvalidInputError } from "../../errors/agent/InvalidInputError.ts";
import type { CreateCheckpointOptions } from "./CreateCheckpointOptions.ts";
import type { RunRecorder } from "./RunRecorder.ts";

/**
 * @throws InvalidInputError when an id or a version is none.
 * @throws CheckpointExistsError when it is taken.
 */
export function checkNewCheckpoint(
  { journal, named }: Pick<RunRecorder, "journal" | "named">,
  { checkpointId, version = 0 }: Pick<CreateCheckpointOptions<never>, "checkpointId" | "version">,
): void {
  const { agentId, nextVersion, keeps } = journal;
  const problem = problemOfId(checkpointId) ?? problemOfVersion(version);
  if (problem) throw new InvalidInputError("new checkpoint", [problem]);
  if (checkpointId !== undefined && named.has(checkpointId))
    throw new CheckpointExistsError(
      agentId,
      checkpointId,
      "this run has one of this id already; number them in a loop",
    );
  if (checkpointId !== undefined && keeps === "checkpoints" && journal.named.has(checkpointId))
    throw new CheckpointExistsError(
      agentId,
      checkpointId,
      "there is one of this id, and a storage of three methods keeps it for good; let the id have the run's in it",
    );
  if (version !== 0 && version < nextVersion)
    throw new CheckpointExistsError(
      agentId,
      checkpointId ?? `version ${version}`,
      `a version is above the last, ${nextVersion - 1}`,
    );
}

function problemOfId(id: string | undefined) {
  if (id === undefined) return undefined;
  if (id.length === 0 || id.length > 256)
    return { path: "checkpointId", expected: `expected 1 to 256 characters, found ${id.length}` };
  return /^\d+-\d+$/.test(id)
    ? { path: "checkpointId", expected: "the form <number>-<number> is given to checkpoints without an id" }
    : undefined;
}

function problemOfVersion(version: number) {
  return Number.isSafeInteger(version) && version >= 0
    ? undefined
    : { path: "version", expected: `expected a whole number, 0 to have one assigned, found ${version}` };
}
