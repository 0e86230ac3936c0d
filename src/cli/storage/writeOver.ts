import { randomBytes } from "node:crypto";
import { createWriteStream } from "node:fs";
import { rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { writeNew } from "./writeNew.ts";

/**
 * Writes a file that only its owner can access. Replaces an existing file after all data is written, and keeps it on
 * failure.
 */
export async function writeOver(file: string, pieces: AsyncIterable<string>): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  // A pipe or a terminal is written directly, because it cannot be replaced.
  if (found && !found.isFile()) return pipeline(pieces, createWriteStream(file));
  const scratch = join(dirname(file), `.${basename(file)}.${randomBytes(6).toString("hex")}`);
  await writeNew(scratch, pieces);
  try {
    await rename(scratch, file);
  } catch (error) {
    await rm(scratch, { force: true });
    throw error;
  }
}
