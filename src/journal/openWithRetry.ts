import type { Clock } from "../internal/Clock.ts";
import type { Journal } from "./Journal.ts";
import type { RecordLog } from "../storage/RecordLog.ts";
import { whileBusy } from "./shape/whileBusy.ts";

/** What opens agents. */
interface Opener {
  readonly clock: Clock;
  openJournal(agentId: string): Promise<Journal>;
}

/** Takes ownership of an agent, and waits for its owner. @throws AgentBusyError when the agent is busy for longer than `timeoutMs`. */
export async function openWithRetry(
  opener: Opener,
  agentId: string,
  timeoutMs: number,
  onBusy: () => Promise<void> = async () => {},
): Promise<Journal> {
  const journal = await openUnless(opener, agentId, timeoutMs, async () => {
    await onBusy();
    return false;
  });
  // Nothing but the agent itself ends the wait.
  return journal as Journal;
}

/**
 * {@link openWithRetry}, until there is no need to.
 *
 * @param isDone asked while the agent is busy: true ends the wait.
 * @returns `undefined` if that ended it.
 */
export function openUnless(
  opener: Opener,
  agentId: string,
  timeoutMs: number,
  isDone: () => Promise<boolean>,
): Promise<Journal | undefined> {
  return whileBusy(() => opener.openJournal(agentId), { clock: opener.clock, timeoutMs }, isDone);
}

/** Asks the owner of an agent to stop, waits for it, and takes ownership. @throws AgentBusyError when that takes longer than `timeoutMs`. */
export async function stopAndOpen(
  opener: Opener & { readonly log: RecordLog },
  agentId: string,
  { reason, timeoutMs }: { readonly reason: string; readonly timeoutMs: number },
): Promise<Journal> {
  // Asked again at each try: another process may have taken the agent in the meantime.
  return openWithRetry(opener, agentId, timeoutMs, () => opener.log.requestStop(agentId, reason));
}
