import { constants, readlinkSync } from "node:fs";
import { relative } from "node:path";
import { stagedFor } from "./paths.ts";
import type { TraceLine } from "./trace/TraceLine.ts";

/** A call of the library to the file system. */
export interface FileCall {
  readonly name: string;
  readonly given: readonly unknown[];
}

/** What the trace says ahead of a call, and after it. */
export function linesOfCall(root: string, { name, given: [first, second] }: FileCall): readonly TraceLine[] {
  const path = pathBelow(root, first);
  const other = pathBelow(root, second);
  // The target of a link is whatever the agent wrote.
  if (name === "symlink") return other === undefined ? [] : [{ kind: "stages", name: other }];
  if (path === undefined) return [];
  const staged = stagedFor(path) !== undefined;
  if (name === "lstat" && !staged) return [{ kind: "looks", path }];
  if (name === "open" && staged && second !== constants.O_RDONLY) return [{ kind: "stages", name: path }];
  if (name === "rename" && staged && other !== undefined) return replacement(other, true);
  return name === "unlink" && !staged ? replacement(path, false) : [];
}

/** A path relative to the root; `undefined`: outside, or no path. */
function pathBelow(root: string, given: unknown): string | undefined {
  if (typeof given !== "string") return undefined;
  const [, handle, rest = ""] = /^(\/proc\/self\/fd\/\d+)(.*)$/.exec(given) ?? [];
  try {
    const path = handle === undefined ? given : `${readlinkSync(handle)}${rest}`;
    const inside = relative(root, path);
    return inside.startsWith("..") || !path.startsWith("/") ? undefined : inside;
  } catch {
    return undefined;
  }
}

function replacement(path: string, staged: boolean): readonly TraceLine[] {
  return [
    { kind: "replaces", path, staged },
    { kind: "replaced", path, staged },
  ];
}
