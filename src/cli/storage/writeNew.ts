import { open, rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";

/**
 * Writes a file that was not there, for its owner alone. When it cannot be written to its end, it is not there again.
 *
 * @throws Error of Node's: `EEXIST` when there is such a file.
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
