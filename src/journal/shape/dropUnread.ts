import { systemClock } from "../../internal/Clock.ts";
import { processOwner } from "../../storage/ReleasableLog.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import { isAboutOneAgent } from "../../storage/summaries.ts";
import { whileBusy } from "./whileBusy.ts";

/** Exceeds the lease of a process that was killed elsewhere. */
const waitMs = 30_000;

/**
 * Deletes a log without decoding it, because it may be unreadable. Also finishes an interrupted deletion, which can
 * leave files or a data key without a log.
 *
 * @param agentId The stored id.
 * @throws AgentBusyError
 */
export async function dropUnread(log: RecordLog, agentId: string): Promise<void> {
  const { folder, archiveKeys, redacted } = log.capabilities;
  const canHaveRemains = folder !== undefined || archiveKeys !== undefined || redacted;
  if (!canHaveRemains && !(await exists(log, agentId))) return;
  const open = () => log.open(agentId, { ...processOwner(), mustExist: true });
  const owned = await whileBusy(open, { clock: systemClock, timeoutMs: waitMs });
  try {
    await owned?.drop();
  } finally {
    await owned?.release();
  }
}

async function exists(log: RecordLog, agentId: string): Promise<boolean> {
  try {
    for await (const _ of log.read(agentId, { sinceSnapshot: true })) return true;
    return false;
  } catch (error) {
    if (!isAboutOneAgent(error)) throw error;
    return true;
  }
}
