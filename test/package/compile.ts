import { fileURLToPath } from "node:url";
import ts from "typescript";

export const repository = fileURLToPath(new URL("../..", import.meta.url));

/** What a user of the library would have on: strict, and the two options that find most mistakes in types. */
const strict: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  lib: ["lib.es2023.d.ts", "lib.esnext.disposable.d.ts"],
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  moduleDetection: ts.ModuleDetectionKind.Force,
  types: ["node"],
  typeRoots: [`${repository}node_modules/@types`],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: true,
  noEmit: true,
};

/** Options under which the package's own name stands for its source. */
export const againstSource: ts.CompilerOptions = {
  allowImportingTsExtensions: true,
  lib: ["lib.es2023.d.ts", "lib.esnext.disposable.d.ts", "lib.dom.d.ts", "lib.dom.asynciterable.d.ts"],
  paths: {
    "agent-persistence": [`${repository}src/index.ts`],
    "agent-persistence/*": [`${repository}src/*.ts`],
  },
};

/** A program over the files given, which need not be on disk; keys are absolute paths. */
export function programOf(files: ReadonlyMap<string, string>, options: ts.CompilerOptions = {}): ts.Program {
  const all = { ...strict, ...options };
  const disk = ts.createCompilerHost(all, true);
  const host: ts.CompilerHost = {
    ...disk,
    fileExists: (path) => files.has(path) || disk.fileExists(path),
    readFile: (path) => files.get(path) ?? disk.readFile(path),
    getSourceFile(path, languageVersion, ...rest) {
      const text = files.get(path);
      if (text === undefined) return disk.getSourceFile(path, languageVersion, ...rest);
      return ts.createSourceFile(path, text, languageVersion, true);
    },
  };
  return ts.createProgram({ rootNames: [...files.keys()], options: all, host });
}

/**
 * What the compiler says about files of a program, one line each, with paths inside the repository shortened.
 *
 * @param paths Default: those that the program was made of, and not what they import.
 */
export function complaintsOf(program: ts.Program, paths: readonly string[] = program.getRootFileNames()): string[] {
  const diagnostics = paths.flatMap((path) => {
    const file = program.getSourceFile(path);
    if (file === undefined) throw new Error(`The program has no file ${path}.`);
    return ts.getPreEmitDiagnostics(program, file);
  });
  return diagnostics.map((diagnostic) => {
    const text = ts.flattenDiagnosticMessageText(diagnostic.messageText, " ");
    if (diagnostic.file === undefined) return text;
    const { line } = diagnostic.file.getLineAndCharacterOfPosition(diagnostic.start ?? 0);
    return `${diagnostic.file.fileName.replace(repository, "")}:${line + 1} ${text}`;
  });
}
