import { z } from "zod";
import type { ArchiveHeader } from "./archiveFormat.ts";

/** The facts of an archive that stay readable. A repeated backup compares them with the log. */
export type ReadableFacts = Pick<ArchiveHeader, "agentId" | "position" | "generation" | "checksum" | "shape">;

/** The first line of an encrypted archive. All other bytes are encrypted chunks. */
export interface EncryptedHeader extends ReadableFacts {
  /** The version of the encryption. */
  readonly encrypted: 1;
  readonly library: "agent-persistence";
  /** A random id that distinguishes the archive from others of the same agent. */
  readonly id: string;
  /** The id of the key that encrypted the data key of the archive. */
  readonly keyId: string;
  /** The encrypted data key, in base64url. */
  readonly wrapped: string;
}

export const encryptedHeaderSchema = z.strictObject({
  encrypted: z.literal(1),
  library: z.literal("agent-persistence"),
  agentId: z.string(),
  position: z.int().positive(),
  generation: z.int().positive(),
  checksum: z.string().optional(),
  shape: z.string().optional(),
  id: z.string().min(1),
  keyId: z.string().min(1),
  wrapped: z.string().min(1),
});

/** The first bytes of an encrypted archive. */
export const encryptedMark: Uint8Array = new TextEncoder().encode('{"encrypted":');

/** The plain bytes of each chunk except the last, which can have fewer. */
export const chunkBytes = 64 * 1024;

/** The bytes that the encryption adds to a chunk: a nonce and a tag. */
export const addedBytes = 28;

/** Binds a data key to its archive. */
export function keyContextOf({ agentId, id }: Pick<EncryptedHeader, "agentId" | "id">): string {
  return JSON.stringify(["agent-persistence archive key", agentId, id]);
}

/** Binds a chunk to the readable facts of its archive, to its place, and to the end of the archive. */
export function chunkContextOf(
  header: ReadableFacts & { readonly id: string },
  index: number,
  isLast: boolean,
): string {
  const { agentId, position, generation, checksum, shape = null, id } = header;
  const facts = [agentId, position, generation, shape, id, index, isLast];
  return JSON.stringify(["agent-persistence archive", 1, ...facts, ...(checksum === undefined ? [] : [checksum])]);
}
