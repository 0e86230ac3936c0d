import type { ProcessFacts, ProcessIdentity } from "./ProcessIdentity.ts";

/**
 * A process as text, to be kept beside its host and its number: `boot <id>, namespace <pids>[, time <times>], start <ticks>`.
 * Two texts are equal only for one process.
 */
export function incarnationOf(facts: ProcessFacts): string {
  return `${placeOf(facts)}${facts.processStart}`;
}

/** Whether a text of {@link incarnationOf} is of this boot and these namespaces: the two processes then share one clock. */
export function isSamePlace(incarnation: string | undefined, seenBy: ProcessFacts): boolean {
  return incarnation?.startsWith(placeOf(seenBy)) === true;
}

/**
 * True only when the process has certainly ended: of another machine, boot or namespace nothing is known.
 *
 * @param exact false where all that share the storage are on one machine, so that the name of a boot need not be unique.
 */
export function hasEnded(
  { processId, incarnation }: { readonly processId: number; readonly incarnation?: string | undefined },
  seenBy: ProcessIdentity,
  exact: boolean,
): boolean {
  if (incarnation === undefined || !isSamePlace(incarnation, seenBy)) return false;
  const start = incarnation.slice(placeOf(seenBy).length);
  // Without the start of a process, its boot is a guess, too.
  return !(exact && start === "") && !seenBy.isRunning(processId, start);
}

function placeOf({ bootId, pidNamespace, timeNamespace }: ProcessFacts): string {
  const times = timeNamespace === undefined ? "" : `, time ${timeNamespace}`;
  return `boot ${bootId}, namespace ${pidNamespace}${times}, start `;
}
