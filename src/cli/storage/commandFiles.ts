import { link, open, readFile, rename, rm, stat } from "node:fs/promises";
import { nodeFileSystem } from "../../nodejs/nodeFileSystem.ts";
import { CommandFailure } from "../terminal/CommandFailure.ts";
import { dirname, basename, join } from "node:path";
import { isDirectoryAt } from "./storageAddress.ts";
import { pipeline } from "node:stream/promises";
import { randomBytes } from "node:crypto";
import { createWriteStream } from "node:fs";

/** @throws CommandFailure if the file does not exist */
export async function assertFile(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() !== true) throw new CommandFailure("notFound", `There is no file ${path}.`);
}

/** Reads a JSON file. @param what - its content in messages, such as `a receipt` @throws CommandFailure */
export async function readJson(path: string, what: string): Promise<unknown> {
  await assertFile(path);
  try {
    return JSON.parse(await readFile(path, "utf8"));
  } catch (error) {
    throw new CommandFailure("usage", `${path} is not ${what}: ${(error as Error).message}`, { cause: error });
  }
}

/** @throws CommandFailure if the directory does not exist */
export async function assertFolder(path: string): Promise<void> {
  if (!(await isDirectoryAt(path))) throw new CommandFailure("notFound", `There is no folder ${path}.`);
}

/** @throws CommandFailure if the path exists or its directory is missing */
export async function assertNoFile(path: string): Promise<void> {
  if (await stat(path).catch(() => undefined)) throw new CommandFailure("usage", `The file ${path} already exists.`);
  await assertFolderOf(path);
}

async function assertFolderOf(file: string): Promise<void> {
  if (!(await isDirectoryAt(dirname(file))))
    throw new CommandFailure("notFound", `There is no folder ${dirname(file)} for ${basename(file)}.`);
}

/**
 * Writes a new file, which only its owner can read. The file appears when its data is durable. If `signal` aborts
 * before, no file appears.
 *
 * @throws an Error such as `EEXIST`
 */
export async function writeNew(file: string, pieces: Pieces, signal?: AbortSignal): Promise<void> {
  const place = async (scratch: string): Promise<void> => {
    try {
      await link(scratch, file);
    } catch (error) {
      // Some file systems have no links.
      if (await stat(file).catch(() => undefined)) throw error;
      await rename(scratch, file);
    }
  };
  await writeWhole(file, pieces, place, signal);
}

type Pieces = AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>;

/**
 * Writes a file, which only its owner can read. Replaces an existing file when all data is written, unless `signal`
 * aborts before.
 *
 * @throws CommandFailure if its directory is missing
 */
export async function writeOver(file: string, pieces: Pieces, signal?: AbortSignal): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  // A pipe or a terminal cannot be replaced, so the data is written directly.
  if (found && !found.isFile()) return pipeline(pieces, createWriteStream(file), { signal });
  await assertFolderOf(file);
  await writeWhole(file, pieces, (scratch) => rename(scratch, file), signal);
}

/** @param place - gives the written scratch file, which is in the same directory, its name. */
async function writeWhole(
  file: string,
  pieces: Pieces,
  place: (scratch: string) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const scratch = join(dirname(file), `.${randomBytes(6).toString("hex")}.tmp`);
  try {
    const opened = await open(scratch, "wx", 0o600);
    await pipeline(pieces, opened.createWriteStream({ flush: true }), { signal });
    await place(scratch);
    await nodeFileSystem.fsyncDir(dirname(file));
  } catch (error) {
    throw aboutFile(error, file);
  } finally {
    await rm(scratch, { force: true });
  }
}

/** Replaces the name of the temporary file in an error of Node by the name of the user's file. */
function aboutFile(error: unknown, file: string): unknown {
  const { syscall, message } = Object(error) as NodeJS.ErrnoException;
  if (syscall === undefined) return error;
  const [reason = ""] = message.split(`, ${syscall}`);
  return Object.assign(error as Error, { message: `${reason}, write '${file}'`, path: file });
}
