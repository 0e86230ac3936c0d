/** Distinguishes a process from every other process that may share a directory. */
export interface ProcessFacts {
  readonly host: string;
  /** Changes with each boot of the machine. */
  readonly bootId: string;
  /** Containers on one machine share the boot id, but number their processes separately. */
  readonly pidNamespace: string;
  /** The namespace of start times. Omitted if the system has a single clock. */
  readonly timeNamespace?: string | undefined;
  readonly processId: number;
  /** The start time of the process, because process ids are reused. Empty if unknown. */
  readonly processStart: string;
}

/** The identity of this process. Injected, so that tests can simulate many processes. */
export interface ProcessIdentity extends ProcessFacts {
  /** Returns whether a process of this machine and namespaces runs. False only if it has certainly ended. */
  isRunning(processId: number, processStart: string): boolean;
  /** The numeric id of the process's user. Omitted if the system has no users. */
  readonly user?: number | undefined;
  /**
   * Milliseconds of a monotonic clock that all processes of this boot and time namespace share. If omitted, each
   * process waits for a whole lease before it takes over a silent owner.
   */
  sinceBootMs?(): number;
}

export function processFacts(identity: ProcessFacts): ProcessFacts {
  const { host, bootId, pidNamespace, timeNamespace, processId, processStart } = identity;
  return {
    host,
    bootId,
    pidNamespace,
    ...(timeNamespace !== undefined && { timeNamespace }),
    processId,
    processStart,
  };
}

/** Returns true only if the process has certainly ended. A process of another machine, boot or namespace is unknown. */
export function isSurelyGone(process: ProcessFacts, seenBy: ProcessIdentity): boolean {
  if (process.bootId !== seenBy.bootId || process.pidNamespace !== seenBy.pidNamespace) return false;
  if (process.timeNamespace !== seenBy.timeNamespace) return false;
  return !seenBy.isRunning(process.processId, process.processStart);
}
