import { existsSync, mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { isStorageName, type StorageName, storageNames } from "../openStorage.ts";
import { databaseFile } from "./agent.ts";

/** The options are invalid; the message says why in one line. */
export class UsageError extends Error {}

export interface DemoOptions {
  readonly csvFile: string;
  /** Absent: a new folder. */
  readonly directory: string | undefined;
  /** Where the agent is stored. */
  readonly storage: StorageName;
}

const usage = `demo.ts [file.csv] [--directory <folder>] [--storage ${storageNames.join("|")}]`;

const peopleFile = relative("", fileURLToPath(new URL("people.csv", import.meta.url)));

/** What the command line says. */
export function demoOptions(): DemoOptions {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { directory: { type: "string" }, storage: { type: "string", default: "file" } },
    });
    const { directory, storage } = values;
    if (positionals.length > 1) throw new UsageError("one CSV file at a time");
    if (!isStorageName(storage)) throw new UsageError(`there is no storage ${storage}`);
    return { csvFile: positionals[0] ?? peopleFile, directory, storage };
  } catch (cause) {
    throw new UsageError(`${(cause as Error).message.split("\n")[0]}; usage: ${usage}`);
  }
}

/** The folder for database and agent, created if it is absent. */
export function dataDirectory(directory: string | undefined): string {
  if (directory === undefined) return mkdtempSync(join(tmpdir(), "user-import-"));
  if (existsSync(databaseFile(directory))) {
    throw new UsageError(`${directory} holds the data of an earlier import; name another folder`);
  }
  mkdirSync(directory, { recursive: true });
  return directory;
}
