import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const lines = 100;

/** Runs git as a user does. */
export function git(root: string, ...args: readonly string[]): string {
  const who = ["-c", "user.name=Bench", "-c", "user.email=bench@example.com"];
  const { status, stdout, stderr } = spawnSync("git", [...who, ...args], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 2 ** 27,
  });
  if (status !== 0) throw new Error(`git ${args.join(" ")} failed: ${stderr}`);
  return stdout.trim();
}

/** A repository and a clone of it, with files of 100 lines. */
export function clonedRepository(directory: string, files: number): { readonly origin: string; readonly ours: string } {
  const [origin, ours] = [join(directory, "origin"), join(directory, "ours")];
  mkdirSync(origin);
  git(origin, "init", "--quiet", "--initial-branch=main");
  change(origin, [0, files]);
  commit(origin);
  git(directory, "clone", "--quiet", origin, ours);
  return { origin, ours };
}

/** Writes the files of these numbers, with one line changed by a side. */
export function change(root: string, [from, to]: readonly [number, number], line?: number, side = ""): void {
  for (let at = from; at < to; at++) {
    const folder = join(root, `part-${at % 20}`);
    mkdirSync(folder, { recursive: true });
    const text = Array.from({ length: lines }, (_, number) => {
      const end = number === line ? ` // ${side}` : "";
      return `export const value${at}x${number} = ${Math.sin(at * lines + number)};${end}\n`;
    });
    writeFileSync(join(folder, `file-${at}.ts`), text.join(""));
  }
}

export function commit(root: string): void {
  git(root, "add", "--all");
  git(root, "commit", "--quiet", "--message", "change");
}
