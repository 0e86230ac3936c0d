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
  const before = await liveBytes();
  await run();
  const growth = (await liveBytes()) - before;
  held.delete(storage);
  return growth;
}

/** Storages that must outlive the second look at the heap, whatever the compiler thinks is still needed. */
const held = new Set<object>();

/** The least of a few looks: the memory of buffers is given back in the background, some time after a collection. */
async function liveBytes(): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let look = 0; look < 5; look++) {
    if (globalThis.gc === undefined) throw new Error("Run node with --expose-gc.");
    globalThis.gc();
    await new Promise((resolve) => setImmediate(resolve));
    const { heapUsed, external } = process.memoryUsage();
    least = Math.min(least, heapUsed + external);
  }
  return least;
}
