import { readFileSync } from "node:fs";
import { join } from "node:path";
import { importsIn } from "../architecture/importsIn.ts";

/**
 * The suites below a folder that do more in a soak: they, or what they import of the folder, ask for `SOAK`. `npm test` runs
 * the others in full.
 */
export function soakSuites(folder: string): string[] {
  const imports = importsIn(folder);
  const asks = (file: string): boolean => readFileSync(join(folder, file), "utf8").includes('process.env["SOAK"]');
  // Files that are added while the loop runs are visited, too.
  const reached = new Set([...imports.keys()].filter(asks));
  for (const target of reached)
    for (const [file, imported] of imports) if (imported.includes(target)) reached.add(file);
  const suites = [...reached].filter((file) => file.endsWith(".test.ts")).toSorted();
  return suites.map((file) => join(folder, file));
}
