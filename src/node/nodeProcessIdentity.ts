import type { ProcessIdentity } from "./ProcessIdentity.ts";

let known: ProcessIdentity | undefined;

/** The identity of this process, read once. */
export function nodeProcessIdentity(): ProcessIdentity {
  known ??= process.platform === "linux" ? linuxIdentity() : otherIdentity();
  return known;
}

/** Node's own modules, found without importing them: what imports this also loads where there is no Node. */
const fs = () => process.getBuiltinModule("node:fs");
const os = () => process.getBuiltinModule("node:os");

/** The identity of this process; `undefined` where there is no Node. */
export function platformIdentity(): ProcessIdentity | undefined {
  const { process: found } = globalThis as { readonly process?: { readonly getBuiltinModule?: unknown } };
  return typeof found?.getBuiltinModule === "function" ? attempt(nodeProcessIdentity) : undefined;
}

/**
 * Certain only where `/proc` shows the processes of this namespace by the numbers that they have here. It may be that of
 * another one, or not be there: then no process is ever known to have ended.
 */
function linuxIdentity(): ProcessIdentity {
  const bootId = attempt(() => fs().readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
  const pidNamespace = attempt(() => fs().readlinkSync("/proc/self/ns/pid"));
  if (bootId === undefined || pidNamespace === undefined || !showsThisProcess())
    return { ...otherIdentity(), isRunning: () => true, pidNamespace: pidNamespace ?? "" };
  return {
    host: os().hostname(),
    bootId,
    pidNamespace,
    // Older systems have no such namespaces.
    timeNamespace: attempt(() => fs().readlinkSync("/proc/self/ns/time")),
    processId: process.pid,
    processStart: statOf(process.pid)?.start ?? "",
    isRunning: (processId, processStart) => {
      if (processStart === "") return true;
      const found = statOf(processId);
      // Processes of other users may be hidden.
      if (found === undefined) return isAlive(processId);
      return !found.ended && found.start === processStart;
    },
    user: process.geteuid?.(),
    sinceBootMs,
  };
}

/** The minute of the start identifies the boot; where that is wrong, the lease decides. */
function otherIdentity(): ProcessIdentity {
  const host = os().hostname();
  return {
    host,
    bootId: `${host} ${Math.round((Date.now() / 1000 - os().uptime()) / 60)}`,
    pidNamespace: "",
    processId: process.pid,
    processStart: "",
    user: process.geteuid?.(),
    isRunning: (processId, processStart) => processStart !== "" || isAlive(processId),
  };
}

/** The numbers of this process, from the namespace of `/proc` to its own: one, if they are the same namespace. */
function showsThisProcess(): boolean {
  const status = attempt(() => fs().readFileSync("/proc/self/status", "utf8")) ?? "";
  const numbers = /^NSpid:(.*)$/m.exec(status)?.[1] ?? /^Pid:(.*)$/m.exec(status)?.[1];
  return numbers?.trim() === String(process.pid);
}

/** Field 22 of `/proc/<pid>/stat`; the name before it may hold spaces and brackets. A zombie has ended. */
function statOf(processId: number): { readonly start: string; readonly ended: boolean } | undefined {
  const text = attempt(() => fs().readFileSync(`/proc/${processId}/stat`, "utf8"));
  const fields = text?.slice(text.lastIndexOf(")") + 2).split(" ");
  return fields && { start: fields[19] ?? "", ended: fields[0] === "Z" || fields[0] === "X" };
}

function sinceBootMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

function isAlive(processId: number): boolean {
  try {
    return process.kill(processId, 0);
  } catch (error) {
    return (error as { readonly code?: unknown }).code !== "ESRCH";
  }
}

function attempt<Value>(action: () => Value): Value | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
