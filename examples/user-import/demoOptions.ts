import { existsSync, mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { databaseFile } from "./agent.ts";

/** The options are invalid; the message says why in one line. */
export class UsageError extends Error {}

export interface DemoOptions {
  readonly csvFile: string;
  /** Absent: a new folder. */
  readonly directory: string | undefined;
}

const peopleFile = relative("", fileURLToPath(new URL("people.csv", import.meta.url)));

/** `demo.ts [file.csv] [--directory <folder>]` */
export function demoOptions(): DemoOptions {
  try {
    const { values, positionals } = parseArgs({ allowPositionals: true, options: { directory: { type: "string" } } });
    if (positionals.length > 1) throw new UsageError("one CSV file at a time");
    return { csvFile: positionals[0] ?? peopleFile, directory: values.directory };
  } catch (cause) {
    throw new UsageError(
      `${(cause as Error).message.split("\n")[0]}; usage: demo.ts [file.csv] [--directory <folder>]`,
    );
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
