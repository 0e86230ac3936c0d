import { readFileSync } from "node:fs";
import { join } from "node:path";
import { importsIn } from "../architecture/importsIn.ts";

/** How the name of a suite ends that runs only in a soak. */
export const soakOnly = ".soak.test.ts";

/**
 * The suites below a folder that run in a share of a soak: those of a soak only, and those that do more in a soak because
 * they, or what they import of the folder, ask for `SOAK`. `npm test` runs the others in full. A part of a soak leaves out
 * files that ask for more cases alone, unless it at least doubles one of the numbers in their text.
 */
export function soakSuites(folder: string, share = 1): string[] {
  const imports = importsIn(folder);
  const text = (file: string): string => readFileSync(join(folder, file), "utf8");
  const doesMore = (file: string): boolean => share === 1 || hasMoreCases(text(file), share);
  // Files that are added while the loop runs are visited, too.
  const reached = new Set([...imports.keys()].filter((file) => text(file).includes('process.env["SOAK"]')));
  for (const target of reached)
    for (const [file, imported] of imports) if (imported.includes(target) && doesMore(file)) reached.add(file);
  const suites = [...imports.keys()].filter(
    (file) => file.endsWith(soakOnly) || (file.endsWith(".test.ts") && reached.has(file)),
  );
  return suites.toSorted().map((file) => join(folder, file));
}

/** Whether a part of a soak runs at least twice as many cases of a file as `npm test` does, or others. */
function hasMoreCases(text: string, share: number): boolean {
  const [, asked] = /import \{([^}]*)\} from "[^"]*soak\/cases\.ts"/.exec(text) ?? [];
  if (asked === undefined || /\b(?:soak|portion)\b/.test(asked)) return true;
  const calls = text.matchAll(/\b(cases|every)\(([\d_]+), ([\d_]+)\)/g);
  return [...calls].some(([, name, few = "", all = ""]) => {
    const [inTest, inSoak] = [few, all].map((count) => Number(count.replaceAll("_", ""))) as [number, number];
    return name === "cases" ? inSoak * share >= inTest * 2 : (inSoak / share) * 2 <= inTest;
  });
}
