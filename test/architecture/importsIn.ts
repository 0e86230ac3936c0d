import { readdirSync, readFileSync } from "node:fs";
import { dirname, relative, resolve, sep } from "node:path";

/** Every file of a folder by its path in it, with the files that it imports, types included. */
export function importsIn(folder: string): ReadonlyMap<string, readonly string[]> {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  return new Map(files.map((file) => [slashed(file), importsOf(folder, file)]));
}

function importsOf(folder: string, file: string): readonly string[] {
  const path = resolve(folder, file);
  const specifiers = readFileSync(path, "utf8").matchAll(/(?:\bfrom|\bimport)\s*\(?\s*"(\.[^"]+)"/g);
  return [...specifiers].map(([, specifier = ""]) => slashed(relative(folder, resolve(dirname(path), specifier))));
}

function slashed(path: string): string {
  return path.split(sep).join("/");
}
