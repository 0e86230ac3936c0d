import ts from "typescript";
import type { BuiltPackage } from "./builtPackage.ts";

/**
 * The public API of the package from its built declarations: for each entry one text with the signatures of its exports,
 * without comments. An export that an earlier entry has too is only named. Interfaces and aliases that no entry exports,
 * but that a signature mentions, follow at the end of the first entry that mentions them.
 */
export class ApiReport {
  readonly #program: ts.Program;
  readonly #checker: ts.TypeChecker;
  readonly #built: BuiltPackage;
  readonly #values: ReadonlyMap<string, readonly string[]>;
  readonly #printer = ts.createPrinter({ removeComments: true });
  /** Each described symbol with the entry that describes it. */
  readonly #described = new Map<ts.Symbol, string>();
  readonly #texts = new Map<string, string>();

  /**
   * @param program holds the declarations of all entries
   * @param values for each entry the names that exist when the program runs
   */
  constructor(built: BuiltPackage, program: ts.Program, values: ReadonlyMap<string, readonly string[]>) {
    this.#built = built;
    this.#program = program;
    this.#values = values;
    this.#checker = program.getTypeChecker();
    const exported = new Set([...built.entries.keys()].flatMap((entry) => this.#exportsOf(entry)));
    for (const entry of built.entries.keys()) this.#texts.set(entry, this.#describe(entry, exported));
  }

  /** @param entry as in `BuiltPackage.entries` */
  of(entry: string): string {
    return this.#texts.get(entry) ?? "";
  }

  #describe(entry: string, exported: ReadonlySet<ts.Symbol>): string {
    const parts: string[] = [];
    const unexported: ts.Symbol[] = [];
    const need = (symbol: ts.Symbol) => {
      if (!exported.has(symbol) && !this.#described.has(symbol)) unexported.push(symbol);
    };
    for (const named of this.#namedExports(entry)) {
      const symbol = this.#target(named);
      const other = this.#described.get(symbol);
      this.#described.set(symbol, entry);
      const prefix = isValue(symbol) && this.#values.get(entry)?.includes(named.name) !== true ? "type-only " : "";
      parts.push(
        other === undefined || other === entry
          ? `${prefix}${this.#declarationOf(symbol, named.name, need)}`
          : `${prefix}${named.name} from ${nameOf(other)}`,
      );
    }
    const own: string[] = [];
    for (let next = unexported.shift(); next !== undefined; next = unexported.shift()) {
      if (this.#described.has(next)) continue;
      this.#described.set(next, entry);
      own.push(this.#declarationOf(next, next.name, need));
    }
    return `${[...parts, ...(own.length === 0 ? [] : ["// Not exported:", ...own.toSorted()])].join("\n\n")}\n`;
  }

  #declarationOf(symbol: ts.Symbol, name: string, need: (symbol: ts.Symbol) => void): string {
    const texts = (symbol.declarations ?? []).map((declaration) => {
      const node = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
      this.#findNeeded(node, need);
      const text = this.#printer.printNode(ts.EmitHint.Unspecified, node, node.getSourceFile());
      return text
        .replaceAll(/^\s*(#private|private .*);\n/gm, "")
        .replaceAll(/^(export )?(declare )?/g, "")
        .replaceAll(/(import\("\.\/\w+)-[\w-]{8}(\.js"\))/g, "$1$2");
    });
    return symbol.name === name ? texts.join("\n") : `${texts.join("\n")} // as ${name}`;
  }

  #findNeeded(node: ts.Node, need: (symbol: ts.Symbol) => void): void {
    if (ts.isIdentifier(node)) {
      const symbol = this.#checker.getSymbolAtLocation(node);
      const target = symbol && this.#target(symbol);
      const at = target?.declarations?.[0];
      if (target && at && isNamedType(at) && at.getSourceFile().fileName.startsWith(this.#built.root)) need(target);
    }
    ts.forEachChild(node, (child) => this.#findNeeded(child, need));
  }

  #exportsOf(entry: string): ts.Symbol[] {
    return this.#namedExports(entry).map((symbol) => this.#target(symbol));
  }

  #namedExports(entry: string): ts.Symbol[] {
    const file = this.#program.getSourceFile(`${this.#built.root}${this.#built.entries.get(entry)?.types.slice(2)}`);
    const module = file && this.#checker.getSymbolAtLocation(file);
    if (module === undefined) return [];
    return this.#checker.getExportsOfModule(module).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  #target(symbol: ts.Symbol): ts.Symbol {
    return symbol.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(symbol) : symbol;
  }
}

function nameOf(entry: string): string {
  return `agent-persistence${entry === "" ? "" : `/${entry}`}`;
}

function isNamedType(node: ts.Node): boolean {
  return ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node);
}

function isValue(symbol: ts.Symbol): boolean {
  return (symbol.flags & ts.SymbolFlags.Value) !== 0;
}
