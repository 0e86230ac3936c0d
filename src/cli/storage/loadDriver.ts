import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { CommandFailure } from "../terminal/CommandFailure.ts";

/** Loads a module from a directory or else from this package. Returns `undefined` if both lack it. */
export async function loadFrom(folder: string, name: string): Promise<unknown> {
  for (const from of [pathToFileURL(join(folder, "project.js")), import.meta.url]) {
    const path = resolveFrom(from, name);
    if (path !== undefined) return import(pathToFileURL(path).href);
  }
  return undefined;
}

function resolveFrom(from: string | URL, name: string): string | undefined {
  try {
    return createRequire(from).resolve(name);
  } catch {
    return undefined;
  }
}

/** Loads a database driver from the user's project. @throws CommandFailure if the project lacks the driver */
export async function loadDriver<Driver>(folder: string, name: string, storage: string): Promise<Driver> {
  const found = await loadFrom(folder, name);
  if (found === undefined)
    throw new CommandFailure("failed", `To open a ${storage} storage, install its driver: npm install ${name}`);
  return found as Driver;
}
