import type { Clock } from "../internal/Clock.ts";
import type { Journal } from "./Journal.ts";
import type { RecordLog } from "../storage/RecordLog.ts";
import { whileBusy } from "./shape/whileBusy.ts";

interface Opener {
  readonly clock: Clock;
  openJournal(agentId: string): Promise<Journal>;
}

/** Waits for the owner of an agent, and takes ownership. @throws AgentBusyError after `timeoutMs`. */
export async function openWithRetry(
  opener: Opener,
  agentId: string,
  timeoutMs: number,
  onBusy?: () => Promise<void>,
): Promise<Journal> {
  return (await openUnless(opener, agentId, timeoutMs, onBusy)) as Journal;
}

/** Opens an agent as {@link openWithRetry} does. Returns `undefined` if `isDone` resolves to true while it waits. */
export function openUnless(
  opener: Opener,
  agentId: string,
  timeoutMs: number,
  isDone?: () => Promise<unknown>,
): Promise<Journal | undefined> {
  return whileBusy(() => opener.openJournal(agentId), { clock: opener.clock, timeoutMs }, isDone);
}

/** Requests a stop from the owner of an agent, and takes ownership. @throws AgentBusyError after `timeoutMs`. */
export async function stopAndOpen(
  opener: Opener & { readonly log: RecordLog },
  agentId: string,
  { reason, timeoutMs }: { readonly reason: string; readonly timeoutMs: number },
): Promise<Journal> {
  // The request is repeated, because yet another process can take the agent between two attempts.
  return openWithRetry(opener, agentId, timeoutMs, () => opener.log.requestStop(agentId, reason));
}
