import { PruningNotSupportedError } from "../../errors/PruningNotSupportedError.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";

/** Three methods cannot remove anything, and whoever asks for it has to know. Where nothing is kept, all is gone anyway. */
export function assertPrunable({ capabilities }: RecordLog, operation: string): void {
  if (capabilities.keeps === "checkpoints") throw new PruningNotSupportedError(operation);
}
