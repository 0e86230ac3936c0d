import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { CommandIo } from "../terminal/CommandIo.ts";
import { CommandFailure } from "../failure/CommandFailure.ts";
import { storageAddress, type StorageAddress } from "./storageAddress.ts";

const variable = "AGENT_PERSISTENCE_STORAGE";
const folderName = ".agent-persistence";

/**
 * Returns the given address, else that from the environment, else the nearest `.agent-persistence` directory.
 *
 * @throws CommandFailure
 */
export async function findAddress(given: string | undefined, { env, cwd }: CommandIo): Promise<StorageAddress> {
  const text = given ?? (env[variable] || undefined);
  if (text !== undefined) return storageAddress(text, cwd);
  const folder = await nearest(cwd);
  if (folder !== undefined) return { kind: "file", folder };
  throw new CommandFailure(
    "usage",
    `There is no folder ${folderName} here or above. Say where the agents are, with --storage file:<folder> or the ` +
      `environment variable ${variable}.`,
  );
}

async function nearest(from: string): Promise<string | undefined> {
  const folder = join(from, folderName);
  if (await isFolder(folder)) return folder;
  return dirname(from) === from ? undefined : nearest(dirname(from));
}

export async function isFolder(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isDirectory() === true;
}
