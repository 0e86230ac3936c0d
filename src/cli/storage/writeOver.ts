import { randomBytes } from "node:crypto";
import { createWriteStream } from "node:fs";
import { rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { writeNew } from "./writeNew.ts";

/** Writes a file, for its owner alone. What was there is replaced once all is written, and stays when it fails. */
export async function writeOver(file: string, pieces: AsyncIterable<string>): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  // A pipe or a terminal takes what is written, and cannot be replaced.
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
