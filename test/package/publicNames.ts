import { pathToFileURL } from "node:url";
import type ts from "typescript";
import type { BuiltPackage } from "./builtPackage.ts";

/**
 * Everything the package exports, one entry after the other: first its values, then its types.
 *
 * @param program holds the declarations of all entries.
 */
export async function publicNames({ root, entries }: BuiltPackage, program: ts.Program): Promise<string> {
  const checker = program.getTypeChecker();
  const parts: string[] = [];
  for (const [entry, { code, types: declarations }] of entries) {
    const values = Object.keys((await import(pathToFileURL(root + code).href)) as object).toSorted();
    const file = program.getSourceFile(`${root}${declarations.slice(2)}`);
    const module = file && checker.getSymbolAtLocation(file);
    const all = module === undefined ? [] : checker.getExportsOfModule(module).map(({ name }) => name);
    const types = all.filter((name) => !values.includes(name)).toSorted();
    parts.push(
      [`agent-persistence${entry === "" ? "" : `/${entry}`}`, ...values, ...types.map((name) => `type ${name}`)].join(
        "\n  ",
      ),
    );
  }
  return `${parts.join("\n\n")}\n`;
}
