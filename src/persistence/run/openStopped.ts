import type { Journal } from "../../journal/Journal.ts";
import { openWhenFree } from "./openWhenFree.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";

/** Owns an agent; whoever runs it is asked to stop, and waited for. @throws AgentBusyError when that takes longer than `timeoutMs`. */
export async function openStopped(
  setup: Pick<PersistenceSetup, "log" | "clock" | "openJournal">,
  agentId: string,
  { reason, timeoutMs }: { readonly reason: string; readonly timeoutMs: number },
): Promise<Journal> {
  // Each time anew: another process may have taken the agent in the meantime.
  return openWhenFree(setup, agentId, timeoutMs, () => setup.log.requestStop(agentId, reason));
}
