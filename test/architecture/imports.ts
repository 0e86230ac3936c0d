import { readdirSync, readFileSync } from "node:fs";
import { dirname, posix, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

const source = fileURLToPath(new URL("../../src", import.meta.url));

/** Every file of `src` by its path in it, with the files that it imports, types included. */
export const imports: ReadonlyMap<string, readonly string[]> = new Map(
  readdirSync(source, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => [slashed(file), importsOf(file)]),
);

/** The room that a file stands in; empty for the entries. */
export function roomOf(file: string): string {
  const room = posix.dirname(file);
  return room === "." ? "" : room;
}

function importsOf(file: string): readonly string[] {
  const path = resolve(source, file);
  const specifiers = readFileSync(path, "utf8").matchAll(/(?:\bfrom|\bimport)\s*\(?\s*"(\.[^"]+)"/g);
  return [...specifiers].map(([, specifier = ""]) => slashed(relative(source, resolve(dirname(path), specifier))));
}

function slashed(path: string): string {
  return path.split(sep).join("/");
}
