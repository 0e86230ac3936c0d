import { FileConflictError } from "../../errors/workspaceErrors.ts";
import { conflictAt } from "./FileConflict.ts";
import { conflictingFile, lookAgain, type Restoring } from "./lookAgain.ts";
import type { RestorePart } from "./RestoreStep.ts";
import { ChangedMeanwhile, RestoreWriter } from "./RestoreWriter.ts";

/** The number of attempts, because people may edit files during the restore. After that the restore is refused. */
const attempts = 3;

/**
 * Executes a restore: reads all files, requests decisions, then writes. If a file changes meanwhile, undoes the writes
 * and starts again.
 *
 * @throws FileConflictError, after which every file has its former state
 */
export async function carryOutRestore(parts: readonly RestorePart[], restoring: Restoring): Promise<void> {
  for (let changes = 0; ;) {
    const todo = await lookAgain(parts, restoring);
    const writer = new RestoreWriter(restoring);
    const { size } = restoring.refused;
    try {
      return await writer.write(todo, parts);
    } catch (error) {
      await writer.undo();
      // The next attempt requests a decision about the file that cannot be replaced.
      if (restoring.refused.size > size) continue;
      if (!(error instanceof ChangedMeanwhile)) throw error;
      if (++changes === attempts) throw refusal(error, restoring);
    }
  }
}

function refusal({ path, found }: ChangedMeanwhile, { request }: Restoring): FileConflictError {
  const conflict = conflictingFile(conflictAt(path, found), "others change it all the time");
  return new FileConflictError(request.agentId, request.checkpointId, [conflict]);
}
