import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { temporaryFolder } from "../fixture.ts";

/**
 * Runs an action and aborts it while git holds a lock of HEAD and changes it.
 *
 * @param command a pattern of a part of the command, without spaces
 */
export async function abortedInCommand(
  command: string,
  gitFolder: string,
  action: () => Promise<unknown>,
  abort: () => void,
) {
  const folder = temporaryFolder();
  const [begun, aborted, lock] = [join(folder, "begun"), join(folder, "aborted"), join(gitFolder, "HEAD.lock")];
  const wait = `touch "${lock}" "${begun}"; while [ ! -e "${aborted}" ]; do sleep 0.02; done; rm "${lock}"`;
  await commandsOf(async () => {
    const acting = action();
    await expect.poll(() => existsSync(begun), { timeout: 60_000 }).toBe(true);
    abort();
    writeFileSync(aborted, "");
    await acting;
  }, `case "$*" in *${command}*) ${wait};; esac`);
  expect(existsSync(lock)).toBe(false);
}

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
