import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const importPattern = /(?:from|import) "(\.[^"]+\.ts)"/g;

/**
 * The suites below a folder that do more in a soak: they, or what they import of the folder, ask for `SOAK`. `npm test` runs
 * the others in full.
 */
export function soakSuites(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  const texts = new Map(files.map((file) => [join(folder, file), readFileSync(join(folder, file), "utf8")]));
  const reaching = [...texts].filter(([, text]) => text.includes('process.env["SOAK"]')).map(([file]) => file);
  const reached = new Set(reaching);
  for (const target of reaching)
    for (const [file, text] of texts)
      if (!reached.has(file) && importsOf(file, text).includes(target)) {
        reached.add(file);
        reaching.push(file);
      }
  return [...reached].filter((file) => file.endsWith(".test.ts")).toSorted();
}

function importsOf(file: string, text: string): string[] {
  return [...text.matchAll(importPattern)].map(([, path = ""]) => join(dirname(file), path));
}
