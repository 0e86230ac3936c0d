import { existsSync, mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { databaseFile } from "./agent.ts";

/** What was asked for cannot be done; said in one line. */
export class UsageError extends Error {}

export interface DemoOptions {
  readonly csvFile: string;
  readonly directory: string;
}

/** `demo.ts [file.csv] [--directory <folder>]` */
export function demoOptions(): DemoOptions {
  const { csv, directory } = parsed();
  if (directory !== undefined && existsSync(databaseFile(directory))) {
    throw new UsageError(`${directory} holds the data of an earlier import; name a new folder`);
  }
  if (directory !== undefined) mkdirSync(directory, { recursive: true });
  return {
    csvFile: csv ?? relative("", fileURLToPath(new URL("people.csv", import.meta.url))),
    directory: directory ?? mkdtempSync(join(tmpdir(), "user-import-")),
  };
}

function parsed(): { readonly csv: string | undefined; readonly directory: string | undefined } {
  try {
    const { values, positionals } = parseArgs({ allowPositionals: true, options: { directory: { type: "string" } } });
    if (positionals.length > 1) throw new UsageError("one CSV file at a time");
    return { csv: positionals[0], directory: values.directory === undefined ? undefined : resolve(values.directory) };
  } catch (cause) {
    throw new UsageError(`${(cause as Error).message.split("\n")[0]}; usage: demo.ts [file.csv] [--directory folder]`);
  }
}
