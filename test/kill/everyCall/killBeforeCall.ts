import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

/**
 * Loaded before a program: the process is killed right before the call to the file system with the number in `KILL_BEFORE`,
 * counted from 1. Only calls that can change something count. Without a number it prints at its end how many there were.
 */
const names = [
  "open",
  "write",
  "writev",
  "writeFile",
  "appendFile",
  "truncate",
  "ftruncate",
  "fsync",
  "fdatasync",
  "close",
  "link",
  "symlink",
  "rename",
  "unlink",
  "mkdir",
  "mkdtemp",
  "rmdir",
  "rm",
  "chmod",
  "utimes",
  "copyFile",
];
const killBefore = Number(process.env["KILL_BEFORE"] ?? 0);
let calls = 0;

type Call = (this: unknown, ...given: unknown[]) => unknown;

function countCall(): void {
  if (++calls === killBefore) process.kill(process.pid, "SIGKILL");
}

function counted(target: object, name: string): void {
  const functions = target as Record<string, Call>;
  const call = functions[name];
  if (typeof call !== "function") return;
  functions[name] = function (this: unknown, ...given) {
    countCall();
    return call.apply(this, given);
  };
}

for (const name of names) for (const form of [name, `${name}Sync`]) counted(fs, form);
for (const name of names) counted(fs.promises, name);
const probe = await fs.promises.open(process.execPath);
const handles: object = Object.getPrototypeOf(probe) as object;
await probe.close();
for (const name of ["write", "writev", "writeFile", "appendFile", "truncate", "sync", "datasync"])
  counted(handles, name);
syncBuiltinESMExports();
// For what a native module does, such as the statements of a database.
Object.assign(globalThis, { countCall });
calls = 0;
if (killBefore === 0) process.on("exit", () => process.stderr.write(`calls ${calls}\n`));
