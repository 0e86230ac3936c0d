import type { ProcessFacts, ProcessIdentity } from "./ProcessIdentity.ts";

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

/**
 * Returns true only if the process has certainly ended. A process of another machine, boot or namespace is unknown.
 *
 * @param exact false if all processes on the storage are on one machine, so that the boot id need not be unique.
 */
export function hasEnded(
  { processId, incarnation }: { readonly processId: number; readonly incarnation?: string | undefined },
  seenBy: ProcessIdentity,
  exact: boolean,
): boolean {
  if (incarnation === undefined || !isSamePlace(incarnation, seenBy)) return false;
  const start = incarnation.slice(placeOf(seenBy).length);
  // Without the start time of a process, its boot is uncertain as well.
  return !(exact && start === "") && !seenBy.isRunning(processId, start);
}

function placeOf({ bootId, pidNamespace, timeNamespace }: ProcessFacts): string {
  const times = timeNamespace === undefined ? "" : `, time ${timeNamespace}`;
  return `boot ${bootId}, namespace ${pidNamespace}${times}, start `;
}
