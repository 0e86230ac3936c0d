import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

/** The bytes of all files in a directory and below it. */
export async function diskBytes(directory: string): Promise<number> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const sizes = entries.filter((entry) => entry.isFile()).map((entry) => stat(join(entry.parentPath, entry.name)));
  return (await Promise.all(sizes)).reduce((total, { size }) => total + size, 0);
}

/** Live bytes of this process, buffers outside the heap included. Needs `--expose-gc`. */
export function liveBytes(): number {
  if (globalThis.gc === undefined) throw new Error("Run node with --expose-gc.");
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
