import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";

/** Every file of a folder by its path in it, with the files that it imports, types included. */
export function importsIn(folder: string): ReadonlyMap<string, readonly string[]> {
  return new Map(sourcesIn(folder).map((file) => [slashed(file), importsOf(folder, file)]));
}

/** What is installed is passed over: a package may be a link that leads back here. */
function sourcesIn(folder: string, below = ""): string[] {
  return readdirSync(join(folder, below), { withFileTypes: true }).flatMap((entry) => {
    const path = join(below, entry.name);
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : sourcesIn(folder, path);
    return /\.tsx?$/.test(entry.name) ? [path] : [];
  });
}

function importsOf(folder: string, file: string): readonly string[] {
  const path = resolve(folder, file);
  const specifiers = readFileSync(path, "utf8").matchAll(/(?:\bfrom|\bimport)\s*\(?\s*"(\.[^"]+)"/g);
  return [...specifiers].map(([, specifier = ""]) => slashed(relative(folder, resolve(dirname(path), specifier))));
}

function slashed(path: string): string {
  return path.split(sep).join("/");
}
