import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { CommandFailure } from "../failure/CommandFailure.ts";

/** Loads a module as a file in a folder would, or else as this package would; `undefined`: neither has it. */
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

/** Loads the driver of a database from the project of the user. @throws CommandFailure when the project has none. */
export async function loadDriver<Driver>(folder: string, name: string, storage: string): Promise<Driver> {
  const found = await loadFrom(folder, name);
  if (found === undefined)
    throw new CommandFailure("failed", `To open a ${storage} storage, install its driver: npm install ${name}`);
  return found as Driver;
}
