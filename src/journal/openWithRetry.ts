import { AgentBusyError } from "../errors/storage/AgentBusyError.ts";
import type { Clock } from "../internal/Clock.ts";
import { pause } from "../internal/pause.ts";
import type { Journal } from "./Journal.ts";
import type { RecordLog } from "../storage/RecordLog.ts";

const firstPauseMs = 20;
const longestPauseMs = 500;

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
  whileBusy: () => Promise<void> = async () => {},
): Promise<Journal> {
  const journal = await openUnless(opener, agentId, timeoutMs, async () => {
    await whileBusy();
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
export async function openUnless(
  opener: Opener,
  agentId: string,
  timeoutMs: number,
  isDone: () => Promise<boolean>,
): Promise<Journal | undefined> {
  const { clock } = opener;
  const until = clock.monotonic() + timeoutMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      return await opener.openJournal(agentId);
    } catch (error) {
      if (!(error instanceof AgentBusyError)) throw error;
      if (await isDone()) return undefined;
      const left = until - clock.monotonic();
      if (left <= 0) throw error;
      await pause(clock, Math.min(pauseMs, left));
    }
  }
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
