import { FileConflictError } from "../../errors/workspace/FileConflictError.ts";
import { conflictAt } from "./FileConflict.ts";
import { conflictingFile, lookAgain, type Restoring } from "./lookAgain.ts";
import type { RestorePart } from "./RestoreStep.ts";
import { ChangedMeanwhile, RestoreWriter } from "./RestoreWriter.ts";

/** A person may edit while files are written; after this many attempts the restore is refused. */
const attempts = 3;

/**
 * Carries out a restore: it looks at all files, asks, and writes. When a file changes in the middle, it takes back what it
 * wrote and begins again.
 *
 * @throws FileConflictError; every file is as it was then.
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
      // Somebody is asked about a file that cannot be replaced.
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
