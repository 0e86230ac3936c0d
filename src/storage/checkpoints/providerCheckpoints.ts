import { AgentLog } from "../AgentLog.ts";
import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import { decodeCheckpoint, encodeCheckpoint } from "../../checkpoint/data/checkpointCodec.ts";
import { checkpointData } from "../../checkpoint/data/checkpointData.ts";
import { importCheckpoint } from "../../checkpoint/data/importCheckpoint.ts";
import { ValueWriter } from "../../checkpoint/format/ValueWriter.ts";
import type { Entry } from "../../checkpoint/records/Entry.ts";
import type { CheckpointPoint } from "../../checkpoint/records/lineRecords.ts";
import { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";

export interface ProviderCheckpoints {
  readonly entries: Entry[];
  readonly index: LogProjection;
  /** The generation of the next owner, above the generations in all generated checkpoint ids. */
  readonly generation: number;
  /** Returns a checkpoint as the provider stores it. */
  readonly dataOf: (point: CheckpointPoint) => AgentCheckpointData;
}

export function readProviderCheckpoints(
  stored: readonly AgentCheckpointData[],
  agentId: string,
  sha256: Sha256,
): ProviderCheckpoints {
  const index = new LogProjection();
  const writer = new ValueWriter({ sha256, inlineThresholdBytes: Infinity });
  const entries: Entry[] = [];
  for (const data of stored) {
    const records = importCheckpoint(decodeCheckpoint(data), index, new Map(), writer);
    const entry = {
      position: entries.length + 1,
      generation: 1,
      id: `stored-${data.checkpointId}`,
      records,
      checksum: "",
      prev: "",
    };
    index.add(entry);
    entries.push(entry);
  }
  const generations = stored.map(({ checkpointId }) => Number(/^(\d{1,15})-\d+$/.exec(checkpointId)?.[1] ?? 0));
  const log = new AgentLog(agentId, index, new Map());
  return {
    entries,
    index,
    generation: Math.max(0, ...generations) + 1,
    dataOf: (point) => encodeCheckpoint(checkpointData(log, point)),
  };
}

/** Returns the latest checkpoint of the main line of an agent. */
export function latestOnMainLine(
  ...[stored, agentId, sha256]: Parameters<typeof readProviderCheckpoints>
): AgentCheckpointData | undefined {
  const { index } = readProviderCheckpoints(stored, agentId, sha256);
  return index.latest && checkpointData(new AgentLog(agentId, index, new Map()), index.latest);
}
