/** What tells one process from every other that may share a folder. */
export interface ProcessFacts {
  readonly host: string;
  /** Changes with each start of the machine. */
  readonly bootId: string;
  /** Containers on one machine share the boot id and number their processes each for itself. */
  readonly pidNamespace: string;
  /** Start times are those of this namespace. Absent: the system has one clock for all. */
  readonly timeNamespace?: string | undefined;
  readonly processId: number;
  /** When the process started: a number is reused, a number with its start is not. Empty: unknown. */
  readonly processStart: string;
}

/** The identity of this process. Injected, so that tests are many processes. */
export interface ProcessIdentity extends ProcessFacts {
  /** Whether a process of this machine and namespaces still runs. False only when it is certain that it does not. */
  isRunning(processId: number, processStart: string): boolean;
  /** The number of the user that it runs as. Absent: the system has none. */
  readonly user?: number | undefined;
  /**
   * Milliseconds by a clock that never goes back and that all processes of this boot and time namespace share. Absent:
   * there is none, and each process waits for a lease itself before it takes over a silent owner.
   */
  sinceBootMs?(): number;
}

/** What others are told of a process. */
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

/** True only when it is certain: of another machine, boot or namespace nothing is known. */
export function isSurelyGone(process: ProcessFacts, seenBy: ProcessIdentity): boolean {
  if (process.bootId !== seenBy.bootId || process.pidNamespace !== seenBy.pidNamespace) return false;
  if (process.timeNamespace !== seenBy.timeNamespace) return false;
  return !seenBy.isRunning(process.processId, process.processStart);
}
