import { refersToLane } from "../values/refersToLane.ts";
import type { AgentRecord } from "./AgentRecord.ts";

/** Whether a record adds messages that are on other lanes: those of joined branches. */
export function isMerged(record: AgentRecord): boolean {
  if (record.kind === "message") return refersToLane(record.message);
  return record.kind === "edit" && record.insert.some(({ message }) => refersToLane(message));
}
