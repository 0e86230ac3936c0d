import { z } from "zod";
import { strictOptions } from "../internal/options/strictOptions.ts";
import type { Sha256 } from "../internal/sha256/Sha256.ts";
import type { ArchiveHeader } from "./archiveFormat.ts";

/** What an import says of what it took. Plain JSON: give it to `finishMove`, in whichever process. */
export interface MoveReceipt {
  /** The agent that was exported. */
  readonly from: string;
  /** Where it is now: its id there, and the folder of the storage if it has one. */
  readonly to: { readonly agentId: string; readonly folder?: string | undefined };
  /** Which move. Absent: the archive was a copy, and there is nothing to finish. */
  readonly move?: string | undefined;
  /** Of all this and of how far the log reached. */
  readonly digest: string;
}

export const moveReceiptSchema = strictOptions({
  from: z.string(),
  to: strictOptions({ agentId: z.string(), folder: z.string().optional() }),
  move: z.string().optional(),
  digest: z.string(),
});

/** The receipt of an import. */
export function receiptOf(
  { agentId: from, move, position, generation }: Pick<ArchiveHeader, "agentId" | "move" | "position" | "generation">,
  { agentId, folder }: MoveReceipt["to"],
  sha256: Sha256,
): MoveReceipt {
  const to = folder === undefined ? { agentId } : { agentId, folder };
  const digest = sha256.base64url(JSON.stringify([from, agentId, folder ?? null, move ?? null, position, generation]));
  return move === undefined ? { from, to, digest } : { from, to, move, digest };
}
