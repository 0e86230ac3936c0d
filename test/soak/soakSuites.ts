import { readFileSync } from "node:fs";
import { join } from "node:path";
import { importsIn } from "../architecture/importsIn.ts";

/** How the name of a suite ends that runs only in a soak. */
export const soakOnly = ".soak.test.ts";

/**
 * The suites below a folder that run in a soak: those of a soak only, and those that do more in a soak because they, or what
 * they import of the folder, ask for `SOAK`. `npm test` runs the others in full. A part of a soak leaves out files that ask
 * only for a whole one.
 */
export function soakSuites(folder: string, isWhole = true): string[] {
  const imports = importsIn(folder);
  const text = (file: string): string => readFileSync(join(folder, file), "utf8");
  const doesMore = (file: string): boolean => isWhole || !text(file).includes("import { wholeSoak }");
  // Files that are added while the loop runs are visited, too.
  const reached = new Set([...imports.keys()].filter((file) => text(file).includes('process.env["SOAK"]')));
  for (const target of reached)
    for (const [file, imported] of imports) if (imported.includes(target) && doesMore(file)) reached.add(file);
  const suites = [...imports.keys()].filter(
    (file) => file.endsWith(soakOnly) || (file.endsWith(".test.ts") && reached.has(file)),
  );
  return suites.toSorted().map((file) => join(folder, file));
}
