import fs, { constants } from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const names = ["rename", "unlink", "mkdir", "chmod", "symlink", "rmdir", "open"];

type Call = (this: unknown, ...given: unknown[]) => unknown;
type Functions = Record<string, Call>;

/**
 * Runs an action, and calls `before` ahead of each of its calls to the file system that change something, with the number
 * of the call from 1 and its last path. What `before` throws, the call throws.
 *
 * @returns how many calls there were.
 */
export async function aheadOfChanges(
  before: (call: number, path: string) => void,
  action: () => Promise<unknown>,
): Promise<number> {
  let calls = 0;
  const originals: (() => void)[] = [];
  let isOwn = false;
  const count = (name: string, given: readonly unknown[]) => {
    const [, flags] = given;
    if (isOwn || (name.startsWith("open") && !(typeof flags === "number" && (flags & constants.O_CREAT) !== 0))) return;
    isOwn = true;
    try {
      before(++calls, String(given.findLast((one) => typeof one === "string")));
    } finally {
      isOwn = false;
    }
  };
  const replace = (functions: Functions, name: string, counted: (original: Call) => Call) => {
    const original = functions[name] as Call;
    functions[name] = counted(original);
    originals.push(() => (functions[name] = original));
  };
  for (const name of names) {
    replace(fs.promises as unknown as Functions, name, (original) => async (...given) => {
      count(name, given);
      return original(...given);
    });
    replace(fs as unknown as Functions, `${name}Sync`, (original) => (...given) => {
      count(name, given);
      return original(...given);
    });
  }
  replace(fs as unknown as Functions, "open", (original) => (...given) => {
    count("open", given);
    return original(...given);
  });
  syncBuiltinESMExports();
  try {
    await action();
  } finally {
    for (const restore of originals) restore();
    syncBuiltinESMExports();
  }
  return calls;
}
