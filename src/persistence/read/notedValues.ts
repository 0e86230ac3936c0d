import { lanesTo } from "../../checkpoint/lines/lineage.ts";
import { foldTo } from "../../checkpoint/state/foldTo.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";

/** Returns the noted values of a key in the history of the head, oldest first. Takes no ownership. */
export async function notedValues(log: RecordLog, agentId: string, key: string): Promise<readonly unknown[]> {
  const stored = await AgentLog.readRecent(log, agentId, reachesRun, (record) => "key" in record && record.key === key);
  const notes = foldTo(stored.index)?.notes ?? [];
  return notes.filter((note) => note.key === key).map(({ value }) => stored.readValue(value));
}

/** Returns whether a log has the history of the head since its run started. */
export function reachesRun({ index }: AgentLog): boolean {
  const { base, lanes, lines, merged } = index;
  if (merged.length > 0 || !foldTo(index)) return false;
  if (base?.first && !base.state.checkpoint?.record.move) return true;
  return lanesTo(index, lines.mainLane).some(({ lane }) => (lanes.get(lane)?.record.keep ?? "all") !== "all");
}
