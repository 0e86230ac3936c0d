import { placesLeft, placesRejoined } from "../../checkpoint/lines/lineage.ts";
import type { Rollback } from "./RollbackReport.ts";

/**
 * Makes events available again that the agent received after the target. In a redo, restored requests get their events
 * back. A repeated rollback has no further effect, because the inbox records the requests.
 */
export async function rollBackEvents({ setup, log: { agentId, index }, target, base }: Rollback): Promise<void> {
  const receipts = [...index.requests.all()].filter(({ record }) => record.event !== undefined);
  if (receipts.length === 0) return;
  const idsOf = (isThere: (lane: number, order: number) => boolean) =>
    receipts.filter(({ lane, order }) => isThere(lane, order)).map(({ record }) => record.request);
  const restored = base ? idsOf(placesRejoined(index, target, base)) : [];
  const inbox = await setup.inbox();
  await inbox.rollBack(agentId, idsOf(placesLeft(index, target, base)), restored);
}
