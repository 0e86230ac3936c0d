import { placesLeft } from "../../checkpoint/lines/lineage.ts";
import type { Rollback } from "./RollbackReport.ts";

/**
 * Lets the agent receive the events again that it received after the target. A repeated rollback gives back each event
 * once, because the inbox forgets the request.
 */
export async function giveBackEvents({ setup, log: { agentId, index }, target, base }: Rollback): Promise<void> {
  const isLeft = placesLeft(index, target, base);
  const left = [...index.requests.all()].filter(
    ({ record, lane, order }) => record.event !== undefined && isLeft(lane, order),
  );
  const requests = left.map(({ record }) => record.request);
  if (requests.length > 0) await (await setup.inbox()).giveBack(agentId, requests);
}
