import type { ProcessIdentity } from "./ProcessIdentity.ts";

let known: ProcessIdentity | undefined;

/** Returns the identity of this process, which is read only once. */
export function nodeProcessIdentity(): ProcessIdentity {
  known ??= process.platform === "linux" ? linuxIdentity() : otherIdentity();
  return known;
}

/** Finds Node modules without importing them, so that this file can be loaded in other runtimes. */
const fs = () => process.getBuiltinModule("node:fs");
const os = () => process.getBuiltinModule("node:os");

export function platformIdentity(): ProcessIdentity | undefined {
  const { process: found } = globalThis as { readonly process?: { readonly getBuiltinModule?: unknown } };
  return typeof found?.getBuiltinModule === "function" ? attempt(nodeProcessIdentity) : undefined;
}

/** Uses `/proc` only if it shows the processes of this namespace. Otherwise no process counts as certainly ended. */
function linuxIdentity(): ProcessIdentity {
  const bootId = attempt(() => fs().readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
  const pidNamespace = attempt(() => fs().readlinkSync("/proc/self/ns/pid"));
  if (bootId === undefined || pidNamespace === undefined || !showsThisProcess())
    return { ...otherIdentity(), isRunning: () => true, pidNamespace: pidNamespace ?? "" };
  const ownStart = statOf(process.pid)?.start ?? "";
  return {
    host: os().hostname(),
    bootId,
    pidNamespace,
    // Older systems have no time namespaces.
    timeNamespace: attempt(() => fs().readlinkSync("/proc/self/ns/time")),
    processId: process.pid,
    processStart: ownStart,
    isRunning: (processId, processStart) => {
      if (processStart === "") return true;
      if (processId === process.pid) return processStart === ownStart;
      const found = statOf(processId);
      // `/proc` may hide the processes of other users.
      if (found === undefined) return isAlive(processId);
      return !found.ended && found.start === processStart;
    },
    user: process.geteuid?.(),
    sinceBootMs,
  };
}

/** Identifies the boot by the minute of its start. If the minute is wrong, the lease still shows an ended owner. */
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

/** Returns whether `/proc` shows this process under its own id. `NSpid` lists one id for each nested namespace. */
function showsThisProcess(): boolean {
  const status = attempt(() => fs().readFileSync("/proc/self/status", "utf8")) ?? "";
  const numbers = /^NSpid:(.*)$/m.exec(status)?.[1] ?? /^Pid:(.*)$/m.exec(status)?.[1];
  return numbers?.trim() === String(process.pid);
}

/** Reads the start time and state from `/proc/<pid>/stat`, after the process name. A zombie counts as ended. */
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
