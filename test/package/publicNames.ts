import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { BuiltPackage } from "./builtPackage.ts";
import { programOf } from "./compile.ts";

/** Everything the package exports, an entry after the other: first its values, then what is a type alone. */
export async function publicNames({ root, entries }: BuiltPackage): Promise<string> {
  const declarations = new Map([...entries].map(([entry, { types }]) => [entry, `${root}${types.slice(2)}`]));
  const program = programOf(new Map([...declarations.values()].map((path) => [path, readFileSync(path, "utf8")])));
  const checker = program.getTypeChecker();
  const parts: string[] = [];
  for (const [entry, { code }] of entries) {
    const values = Object.keys((await import(pathToFileURL(root + code).href)) as object).toSorted();
    const file = program.getSourceFile(declarations.get(entry) ?? "");
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
