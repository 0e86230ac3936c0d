import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../fixture.ts";

/**
 * Runs an action while the first git in PATH writes its commands down.
 *
 * @param before lines of a shell script, run before each command, whose arguments are "$*".
 * @returns the commands, such as `cat-file`, in alphabetical order.
 */
export async function commandsOf(action: () => Promise<unknown>, before = ""): Promise<readonly string[]> {
  const folder = temporaryFolder();
  const [log, program] = [join(folder, "log"), join(folder, "git")];
  const git = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim();
  writeFileSync(log, "");
  writeFileSync(program, `#!/bin/sh\necho "$*" >> "${log}"\n${before}\nexec "${git}" "$@"\n`, { mode: 0o755 });
  const path = process.env["PATH"];
  process.env["PATH"] = `${folder}:${path}`;
  try {
    await action();
  } finally {
    process.env["PATH"] = path;
  }
  const calls = readFileSync(log, "utf8").trim().split("\n");
  return calls.map((call) => /^(?:-[cC] \S+ )*(\S+)/.exec(call)?.[1] ?? "").toSorted();
}
