/** Distinguishes a process from all other processes that may use the same directory. */
export interface ProcessFacts {
  readonly host: string;
  /** Changes with each boot of the machine. */
  readonly bootId: string;
  /** Containers on one machine have the same boot id, but number their processes separately. */
  readonly pidNamespace: string;
  /** The namespace in which start times are measured. Omitted if the system has no such namespaces. */
  readonly timeNamespace?: string | undefined;
  readonly processId: number;
  /** The start time of the process, because process ids are reused. Empty if unknown. */
  readonly processStart: string;
}

/** The identity of this process. Injected, so that tests can simulate many processes. */
export interface ProcessIdentity extends ProcessFacts {
  /** Returns whether a process of this machine and these namespaces runs. `false` only if it has certainly ended. */
  isRunning(processId: number, processStart: string): boolean;
  /** The numeric id of the process's user. Omitted if the system has no users. */
  readonly user?: number | undefined;
  /**
   * Returns milliseconds of a monotonic clock that all processes of this boot and time namespace share. Without this
   * method, each process waits for a whole lease before it takes over from a silent owner.
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

/** Returns whether a process has certainly ended. `false` for a process of another machine, boot or namespace. */
export function isSurelyGone(process: ProcessFacts, seenBy: ProcessIdentity): boolean {
  if (process.bootId !== seenBy.bootId || process.pidNamespace !== seenBy.pidNamespace) return false;
  if (process.timeNamespace !== seenBy.timeNamespace) return false;
  return !seenBy.isRunning(process.processId, process.processStart);
}

/**
 * Returns a text that identifies a process together with its host and process id. The form is `boot <id>, namespace
 * <pids>[, time <times>], start <ticks>`. Equal texts mean the same process.
 */
export function incarnationOf(facts: ProcessFacts): string {
  return `${placeOf(facts)}${facts.processStart}`;
}

/** Returns whether a text of {@link incarnationOf} has this boot and these namespaces, and thus this clock. */
export function isSamePlace(incarnation: string | undefined, seenBy: ProcessFacts): boolean {
  return incarnation?.startsWith(placeOf(seenBy)) === true;
}

/** Returns whether a process has certainly ended. @param exact False if all processes run on one machine. */
export function hasEnded(
  { processId, incarnation }: { readonly processId: number; readonly incarnation?: string | undefined },
  seenBy: ProcessIdentity,
  exact: boolean,
): boolean {
  if (incarnation === undefined || !isSamePlace(incarnation, seenBy)) return false;
  const start = incarnation.slice(placeOf(seenBy).length);
  // A process without a start time can belong to another boot.
  return !(exact && start === "") && !seenBy.isRunning(processId, start);
}

function placeOf({ bootId, pidNamespace, timeNamespace }: ProcessFacts): string {
  const times = timeNamespace === undefined ? "" : `, time ${timeNamespace}`;
  return `boot ${bootId}, namespace ${pidNamespace}${times}, start `;
}
