import { refersToLane } from "../values/refersToLane.ts";
import type { AgentRecord } from "./AgentRecord.ts";

export function isMerged(record: AgentRecord): boolean {
  if (record.kind === "message") return refersToLane(record.message);
  return record.kind === "edit" && record.insert.some(({ message }) => refersToLane(message));
}
