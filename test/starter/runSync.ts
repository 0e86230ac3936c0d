import { spawnSync } from "node:child_process";
import { type ProgramCall, type ProgramEnd, Starter } from "./Starter.ts";

/** Runs a program and waits until it has ended. Only Linux has the {@link Starter}. */
export function runSync({ file, args, options }: Omit<ProgramCall, "input">): ProgramEnd<string> {
  if (process.platform === "linux") return Starter.shared().runSync({ file, args, options });
  const { status, stdout, stderr, error } = spawnSync(file, args, { ...options, encoding: "utf8" });
  const message = `${[file, ...args].join(" ")} failed: ${error?.message ?? stderr}`;
  return { error: status === 0 ? null : { message, code: status }, output: stdout, complaint: stderr };
}
