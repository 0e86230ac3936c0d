import { z } from "zod";
import type { RunDelta } from "../../agent/feature/RunRequest.ts";

/** A stored chunk. `at`: how much text of the same kind came before. */
export type StoredChunk = RunDelta & { readonly at?: number };

const place = {
  nodeId: z.string(),
  requestId: z.string(),
  branch: z.string().exactOptional(),
  agentPath: z.array(z.string()).exactOptional(),
};
const chunkSchema: z.ZodType<StoredChunk> = z.union([
  z.object({
    ...place,
    type: z.enum(["text-delta", "reasoning-delta"]),
    text: z.string(),
    at: z.number().exactOptional(),
  }),
  z.object({ ...place, type: z.literal("restart") }),
]);

/** Returns `undefined` for a chunk that no writer has stored. */
export function parseChunk(text: string): StoredChunk | undefined {
  try {
    return chunkSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
