import type { RequirementsRecord } from "../records/lineRecords.ts";
import type { AgentCheckpointData } from "./AgentCheckpointData.ts";

export function recoveryInfo(
  resumePoint: string,
  { files = [], environment = {}, directory, hashes }: Partial<RequirementsRecord> = {},
): AgentCheckpointData["recoveryInfo"] {
  return {
    resumePoint,
    requiredContext: files,
    ...(hashes && Object.keys(hashes).length > 0 && { fileHashes: hashes }),
    ...(directory !== undefined && { workingDirectory: directory }),
    environment,
  };
}
