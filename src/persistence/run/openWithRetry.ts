import { AgentBusyError } from "../../errors/storage/AgentBusyError.ts";
import type { Clock } from "../../internal/Clock.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";

const firstPauseMs = 20;
const longestPauseMs = 500;

/** Owns an agent, for whose present owner it waits. @throws AgentBusyError when the agent is busy for longer than `timeoutMs`. */
export async function openWithRetry(
  setup: Pick<PersistenceSetup, "clock" | "openJournal">,
  agentId: string,
  timeoutMs: number,
  whileBusy: () => Promise<void> = async () => {},
): Promise<Journal> {
  const { clock } = setup;
  const until = clock.monotonic() + timeoutMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      return await setup.openJournal(agentId);
    } catch (error) {
      if (!(error instanceof AgentBusyError)) throw error;
      await whileBusy();
      const left = until - clock.monotonic();
      if (left <= 0) throw error;
      await pause(clock, Math.min(pauseMs, left));
    }
  }
}

function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve));
}

/** Owns an agent; whoever runs it is asked to stop, and waited for. @throws AgentBusyError when that takes longer than `timeoutMs`. */
export async function stopAndOpen(
  setup: Pick<PersistenceSetup, "log" | "clock" | "openJournal">,
  agentId: string,
  { reason, timeoutMs }: { readonly reason: string; readonly timeoutMs: number },
): Promise<Journal> {
  // Each time anew: another process may have taken the agent in the meantime.
  return openWithRetry(setup, agentId, timeoutMs, () => setup.log.requestStop(agentId, reason));
}
