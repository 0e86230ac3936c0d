import { statfs } from "node:fs/promises";
import { z } from "zod";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { nonEmptyString } from "../../internal/options/optionSchemas.ts";

const argumentsSchema = z.object({ directory: nonEmptyString });

/**
 * Returns a function that measures how full the disk of a directory is, from 0 to 1. Space that is reserved for the system
 * counts as used, as in `df`. For `diskUsage` of a {@link RetentionSchedule}.
 *
 * @throws InvalidInputError
 */
export function diskUsage(directory: string): () => Promise<number> {
  checkSchema(argumentsSchema, { directory }, "disk to measure");
  return async () => {
    const { blocks, bfree, bavail } = await statfs(directory);
    const used = blocks - bfree;
    return used === 0 ? 0 : used / (used + bavail);
  };
}
