import type { AgentCheckpointData } from "../checkpoint/data/AgentCheckpointData.ts";
import { checkpointData } from "../checkpoint/data/checkpointData.ts";
import type { CheckpointPoint } from "../checkpoint/records/lineRecords.ts";
import type { AgentLog } from "./AgentLog.ts";

/** Returns the data of a checkpoint in a log. */
export function checkpointIn(log: AgentLog, point: CheckpointPoint): AgentCheckpointData {
  return checkpointData(log.agentId, log.index, point, log.checksumOf(point), log.blobs);
}
