import { z } from "zod";
import { strictOptions } from "../internal/options/strictOptions.ts";
import type { Sha256 } from "../internal/sha256/Sha256.ts";
import type { ArchiveHeader } from "./archiveFormat.ts";

/** The receipt of an import. It is plain JSON, so that `finishMove` can use it in another process. */
export interface MoveReceipt {
  readonly from: string;
  /** The new location: the agent id, and the directory of the storage if it has one. */
  readonly to: { readonly agentId: string; readonly folder?: string | undefined };
  /** The id of the move. `undefined` if the archive is a copy, which needs no `finishMove`. */
  readonly move?: string | undefined;
  /** A digest of the other fields and of the end of the log. */
  readonly digest: string;
}

export const moveReceiptSchema = strictOptions({
  from: z.string(),
  to: strictOptions({ agentId: z.string(), folder: z.string().optional() }),
  move: z.string().optional(),
  digest: z.string(),
});

export function receiptOf(
  { agentId: from, move, position, generation }: Pick<ArchiveHeader, "agentId" | "move" | "position" | "generation">,
  { agentId, folder }: MoveReceipt["to"],
  sha256: Sha256,
): MoveReceipt {
  const to = folder === undefined ? { agentId } : { agentId, folder };
  const digest = sha256.base64url(JSON.stringify([from, agentId, folder ?? null, move ?? null, position, generation]));
  return move === undefined ? { from, to, digest } : { from, to, move, digest };
}
