import type { AgentCheckpointData, PersistenceStorageProvider } from "agent-persistence";
import { LogPersistenceStorageProvider, type AgentSummary, type LogRecord } from "agent-persistence/storage";
import { collect } from "../storage/file/support/fixture.ts";
import { agentId } from "./Steps.ts";

/** What a storage holds of the agent. */
export interface Stored {
  readonly checkpoints: readonly AgentCheckpointData[];
  readonly latest: AgentCheckpointData | undefined;
  /** Absent for a storage that records no calls and lists no agents. */
  readonly journal?: Journaled;
}

/** What the log says of calls, and how the agent is listed. */
export interface Journaled {
  readonly summaries: readonly AgentSummary[];
  /** Calls that have ended. */
  readonly ended: ReadonlySet<string>;
  /** Calls whose inverse has ended. */
  readonly reverted: ReadonlySet<string>;
  /** Calls that began, or whose inverse did, and of whose end nothing is known. */
  readonly unknown: ReadonlySet<string>;
  /** Of those, the ones whose inverse began. */
  readonly inverting: ReadonlySet<string>;
}

export async function readStored(provider: PersistenceStorageProvider): Promise<Stored> {
  const checkpoints = await provider.getCheckpoints(agentId);
  const latest = await provider.getLatestCheckpoint(agentId);
  if (!(provider instanceof LogPersistenceStorageProvider)) return { checkpoints, latest };
  const summaries = await collect(provider.log.list());
  const records: LogRecord[] = [];
  for await (const entry of provider.log.read(agentId)) records.push(...entry.records);
  return { checkpoints, latest, journal: { summaries, ...callsIn(records) } };
}

function callsIn(records: readonly LogRecord[]): Omit<Journaled, "summaries"> {
  const [ended, reverted] = [new Set<string>(), new Set<string>()];
  const [unknown, inverting] = [new Set<string>(), new Set<string>()];
  for (const { kind, ...record } of records) {
    const { call = "" } = record as { readonly call?: string };
    if (kind === "intent" || kind === "inverse") unknown.add(call);
    if (kind === "outcome" || kind === "reverted") unknown.delete(call);
    if (kind === "outcome") ended.add(call);
    if (kind === "inverse") inverting.add(call);
    if (kind === "reverted") {
      inverting.delete(call);
      reverted.add(call);
    }
  }
  return { ended, reverted, unknown, inverting };
}

/** The checkpoints on the way to one of them, oldest first. */
export function lineTo(
  checkpoint: AgentCheckpointData | undefined,
  all: readonly AgentCheckpointData[],
): readonly AgentCheckpointData[] {
  const byId = new Map(all.map((one) => [one.checkpointId, one]));
  const line: AgentCheckpointData[] = [];
  for (let next = checkpoint; next; next = next.parentId === undefined ? undefined : byId.get(next.parentId))
    line.unshift(next);
  return line;
}
