import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import type { Tree } from "./trace/TraceLine.ts";

/** Everything below a folder. What vanishes meanwhile is not there. */
export function readTree(root: string): Tree {
  const names = readdirSync(root, { recursive: true, encoding: "utf8" });
  return Object.fromEntries(names.flatMap((name) => entryOf(root, name)));
}

function entryOf(root: string, name: string): readonly (readonly [path: string, what: string])[] {
  try {
    const at = join(root, name);
    const found = lstatSync(at);
    const mode = (found.mode & 0o777).toString(8);
    if (found.isSymbolicLink()) return [[name, `link to ${readlinkSync(at)}`]];
    return found.isDirectory() ? [[`${name}/`, mode]] : [[name, `${mode} ${readFileSync(at, "utf8")}`]];
  } catch {
    return [];
  }
}

/** The content in a description of a file; `null`: there is no file. */
export function contentIn(what: string | undefined): string | null {
  if (what === undefined || what.startsWith("link to ")) return null;
  return what.slice(what.indexOf(" ") + 1);
}
