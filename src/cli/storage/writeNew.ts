import { open, rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";

/**
 * Writes a new file that only its owner can access. Removes the file if writing fails.
 *
 * @throws an Error of Node, such as `EEXIST` if the file exists
 */
export async function writeNew(
  file: string,
  pieces: AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>,
): Promise<void> {
  const opened = await open(file, "wx", 0o600);
  try {
    await pipeline(pieces, opened.createWriteStream());
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  }
}
