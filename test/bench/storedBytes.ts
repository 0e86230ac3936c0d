import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

/** The bytes of all files in a directory and below it. */
export async function diskBytes(directory: string): Promise<number> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const sizes = entries.filter((entry) => entry.isFile()).map((entry) => stat(join(entry.parentPath, entry.name)));
  return (await Promise.all(sizes)).reduce((total, { size }) => total + size, 0);
}

/**
 * What a storage holds on to after a run, buffers outside the heap included: everything else is garbage by then. Never
 * in a run that is timed, since a forced collection also throws away compiled code. Needs `--expose-gc`.
 */
export async function heapGrowth(storage: object, run: () => Promise<void>): Promise<number> {
  held.add(storage);
  const before = liveBytes();
  await run();
  const growth = liveBytes() - before;
  held.delete(storage);
  return growth;
}

/** Storages that must outlive the second look at the heap, whatever the compiler thinks is still needed. */
const held = new Set<object>();

function liveBytes(): number {
  if (globalThis.gc === undefined) throw new Error("Run node with --expose-gc.");
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
