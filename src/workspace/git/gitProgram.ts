import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join, sep } from "node:path";
import { GitError } from "../../errors/workspaceErrors.ts";

/** The git executable, and the PATH for programs that git starts. */
export interface GitProgram {
  readonly file: string;
  readonly path: string;
}

const names = process.platform === "win32" ? ["git.exe"] : ["git"];
const known = new Map<string, GitProgram>();

/**
 * Returns the first git in PATH outside of the repository. A repository could contain a program of this name, and
 * package runners add its directories to PATH. Relative entries are ignored. The result is cached for each repository
 * and PATH.
 *
 * @param untrusted directories whose programs are never run
 * @throws GitError
 */
export function gitProgram(path: string, untrusted: readonly string[]): GitProgram {
  const key = [...untrusted, path].join("\0");
  const program = known.get(key) ?? findGit(path, untrusted);
  known.set(key, program);
  return program;
}

function findGit(path: string, untrusted: readonly string[]): GitProgram {
  const isTrusted = (place: string) => untrusted.every((folder) => isOutside(place, folder));
  const entries = path.split(delimiter).filter((entry) => isAbsolute(entry) && isTrusted(entry));
  for (const entry of entries)
    for (const name of names) {
      const file = programAt(join(entry, name));
      if (file !== undefined && isTrusted(file)) return { file, path: entries.join(delimiter) };
    }
  throw new GitError("", "git is not installed, or not in PATH outside the repository");
}

function isOutside(place: string, top: string): boolean {
  const real = realPath(place) ?? place;
  const within = realPath(top) ?? top;
  return real !== within && !real.startsWith(within.endsWith(sep) ? within : within + sep);
}

function programAt(file: string): string | undefined {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile() ? realpathSync(file) : undefined;
  } catch {
    return undefined;
  }
}

function realPath(place: string): string | undefined {
  try {
    return realpathSync(place);
  } catch {
    return undefined;
  }
}
