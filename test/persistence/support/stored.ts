import { persistence, type AgentCheckpointData, type AIAgent } from "agent-persistence";
import type { LogPersistenceStorageProvider, LogRecord } from "agent-persistence/storage";

export async function checkpointsOf(agent: AIAgent<never, unknown>): Promise<readonly AgentCheckpointData[]> {
  return persistence(agent).agent().getCheckpoints();
}

/** @throws when there is none. */
export async function latestOf(agent: AIAgent<string, string>): Promise<AgentCheckpointData> {
  const latest = await persistence(agent).agent().getLatestCheckpoint();
  if (!latest) throw new Error("There is no checkpoint.");
  return latest;
}

/** The nodes that the stored checkpoints say run next, oldest first. */
export async function nodesOf(agent: AIAgent<string, string>): Promise<readonly string[]> {
  return (await checkpointsOf(agent)).map(({ nodeId }) => nodeId);
}

/** What a checkpoint restores: without what says under which name it was saved, and without the ids that a model made up. */
export function restoredBy(data: AgentCheckpointData): unknown {
  const { checkpointId: _id, parentId: _parent, checksum: _sum, toolCalls: _calls, version: _version, ...rest } = data;
  return withoutProviderIds(rest);
}

function withoutProviderIds(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutProviderIds);
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const entries = Object.entries(value).filter(([key]) => key !== "providerToolCallId");
  return Object.fromEntries(entries.map(([key, item]) => [key, withoutProviderIds(item)]));
}

/** Every record of a log, oldest first. */
export async function recordsOf(storage: LogPersistenceStorageProvider, agentId = "a"): Promise<readonly LogRecord[]> {
  const records: LogRecord[] = [];
  for await (const entry of storage.log.read(agentId)) records.push(...entry.records);
  return records;
}

/** Of the recorded tool calls, those that have ended and those that have not. */
export async function recordedCalls(
  storage: LogPersistenceStorageProvider,
): Promise<{ readonly ended: ReadonlySet<string>; readonly inDoubt: ReadonlySet<string> }> {
  const ended = new Set<string>();
  const inDoubt = new Set<string>();
  for (const record of await recordsOf(storage)) {
    const call = (record as { readonly call?: string }).call ?? "";
    if (record.kind === "intent") inDoubt.add(call);
    if (record.kind === "outcome") ended.add(call);
  }
  for (const call of ended) inDoubt.delete(call);
  return { ended, inDoubt };
}
