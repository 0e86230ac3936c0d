import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** Reads the logs in a folder, and parses each of their lines as JSON: the least that an open can cost. */
export async function parseFiles(directory: string): Promise<void> {
  const files = await readdir(directory, { recursive: true });
  for (const file of files.filter((path) => path.endsWith(".jsonl"))) {
    const text = await readFile(join(directory, file), "utf8");
    for (const line of text.split("\n")) if (line !== "") JSON.parse(line);
  }
}
