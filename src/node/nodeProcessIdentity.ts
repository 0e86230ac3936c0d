import { readFileSync, readlinkSync } from "node:fs";
import { hostname, uptime } from "node:os";
import { systemCode } from "./storageFailure.ts";
import type { ProcessIdentity } from "./ProcessIdentity.ts";

let known: ProcessIdentity | undefined;

/** The identity of this process, read once. */
export function nodeProcessIdentity(): ProcessIdentity {
  known ??= readIdentity();
  return known;
}

function readIdentity(): ProcessIdentity {
  const host = hostname();
  const bootId = attempt(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
  const pidNamespace = attempt(() => readlinkSync("/proc/self/ns/pid"));
  const onLinux = bootId !== undefined && pidNamespace !== undefined;
  return {
    host,
    // Elsewhere the minute of the start identifies the boot; where that is wrong, the lease decides.
    bootId: onLinux ? bootId : `${host} ${Math.round((Date.now() / 1000 - uptime()) / 60)}`,
    pidNamespace: pidNamespace ?? "",
    processId: process.pid,
    processStart: startOf(process.pid) ?? "",
    isRunning: (processId, processStart) => {
      const start = startOf(processId);
      return start === undefined && onLinux ? false : isAlive(processId) && (start ?? "") === processStart;
    },
  };
}

/** Field 22 of `/proc/<pid>/stat`; the name before it may hold spaces and brackets. A zombie has ended. */
function startOf(processId: number): string | undefined {
  const text = attempt(() => readFileSync(`/proc/${processId}/stat`, "utf8"));
  const fields = text?.slice(text.lastIndexOf(")") + 2).split(" ");
  return fields?.[0] === "Z" ? undefined : fields?.[19];
}

function isAlive(processId: number): boolean {
  try {
    return process.kill(processId, 0);
  } catch (error) {
    return systemCode(error) !== "ESRCH";
  }
}

function attempt<Value>(action: () => Value): Value | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
