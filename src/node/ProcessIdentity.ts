/** What tells this process from every other that may share the folder. Injected, so that tests are many processes. */
export interface ProcessIdentity {
  readonly host: string;
  /** Changes with each start of the machine. */
  readonly bootId: string;
  /** Containers on one machine share the boot id and number their processes each for itself. */
  readonly pidNamespace: string;
  readonly processId: number;
  /** When the process started: a number is reused, a number with its start is not. */
  readonly processStart: string;
  /** Whether a process of this machine and namespace still runs. */
  isRunning(processId: number, processStart: string): boolean;
}

/** True only when it is certain: of another machine, boot or namespace nothing is known. */
export function isSurelyGone(process: Omit<ProcessIdentity, "isRunning">, seenBy: ProcessIdentity): boolean {
  if (process.bootId !== seenBy.bootId || process.pidNamespace !== seenBy.pidNamespace) return false;
  return !seenBy.isRunning(process.processId, process.processStart);
}
