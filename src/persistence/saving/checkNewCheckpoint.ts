import { AlreadyExistsError } from "../../errors/storageErrors.ts";
import { InvalidInputError, type InputProblem } from "../../errors/agentErrors.ts";
import type { CreateCheckpointOptions } from "./CreateCheckpointOptions.ts";
import type { RunRecorder } from "./RunRecorder.ts";

/** @throws InvalidInputError for an invalid id or version. AlreadyExistsError for a used id or a low version. */
export function checkNewCheckpoint(
  { journal, named }: Pick<RunRecorder, "journal" | "named">,
  { checkpointId, version = 0 }: Pick<CreateCheckpointOptions<never>, "checkpointId" | "version">,
): void {
  const { agentId, nextVersion } = journal;
  const problem = idProblem(checkpointId, "checkpointId") ?? problemOfVersion(version);
  if (problem) throw new InvalidInputError("new checkpoint", [problem]);
  const conflict = (reason: string) =>
    new AlreadyExistsError("checkpoint_exists", agentId, checkpointId ?? `version ${version}`, reason);
  const taken = checkpointId === undefined ? undefined : whyTaken(checkpointId, { journal, named });
  if (taken !== undefined) throw conflict(taken);
  if (version !== 0 && version < nextVersion)
    throw conflict(
      `version ${version} is not above the last version, ${nextVersion - 1}. To get the next version, omit this option`,
    );
}

function whyTaken(id: string, { journal, named }: Pick<RunRecorder, "journal" | "named">): string | undefined {
  if (named.has(id)) return "this run already has a checkpoint with this id. In a loop, number the ids";
  if (journal.keeps === "checkpoints" && journal.named.has(id))
    return "the agent has a checkpoint with this id, and the storage cannot delete it. Choose another id";
  if (journal.names.versionOf(id) === undefined) return undefined;
  return "another checkpoint has this as its name. Choose another id, or remove the name";
}

export function idProblem(id: string | undefined, path: string): InputProblem | undefined {
  if (id === undefined) return undefined;
  if (id.length === 0 || id.length > 256) return { path, expected: `expected 1 to 256 characters, found ${id.length}` };
  return /^\d+-\d+$/.test(id)
    ? { path, expected: "the form <number>-<number> is given to checkpoints without an id" }
    : undefined;
}

/** The maximum version that a caller can choose, so that later checkpoints can get higher versions. */
const highestVersion = 2 ** 52;

function problemOfVersion(version: number) {
  return Number.isSafeInteger(version) && version >= 0 && version <= highestVersion
    ? undefined
    : {
        path: "version",
        expected: `expected a whole number from 1 to 2^52, or 0 for the next version, found ${version}`,
      };
}
