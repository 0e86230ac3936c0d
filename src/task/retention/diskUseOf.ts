import { statfs } from "node:fs/promises";

/**
 * How full the disk of a directory is, from 0 to 1, as `df` counts it: what is reserved for the system is not free. For
 * `diskUse` of a {@link RetentionSchedule}.
 */
export function diskUseOf(directory: string): () => Promise<number> {
  return async () => {
    const { blocks, bfree, bavail } = await statfs(directory);
    const used = blocks - bfree;
    return used === 0 ? 0 : used / (used + bavail);
  };
}
