import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import { importsIn } from "./importsIn.ts";

/** Every file of `src` by its path in it, with the files that it imports, types included. */
export const imports = importsIn(fileURLToPath(new URL("../../src", import.meta.url)));

/** The room that a file stands in; empty for the entries. */
export function roomOf(file: string): string {
  const room = posix.dirname(file);
  return room === "." ? "" : room;
}
