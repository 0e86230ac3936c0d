import type { AgentCheckpointData } from "agent-persistence";
import type { LogRecord } from "agent-persistence/storage";
import { openStorage } from "../../../examples/openStorage.ts";
import { agentId } from "../../../examples/user-import/agent.ts";

/** What the log of the agent says of the sign-ups. */
export interface JournalState {
  /** Ids of the calls that have ended and were not reverted. */
  readonly standing: ReadonlySet<string>;
  /** Ids of the calls that began, or whose inverse began, and of whose end nothing is known. */
  readonly unknown: ReadonlySet<string>;
  /** The checkpoints on the way to the latest one, oldest first. */
  readonly line: readonly AgentCheckpointData[];
  readonly completed: boolean;
}

/** Opened anew, as a process that only looks. */
export async function readJournal(directory: string): Promise<JournalState> {
  const storage = await openStorage("file", directory);
  const records: LogRecord[] = [];
  for await (const entry of storage.log.read(agentId)) records.push(...entry.records);
  const line = lineOf(await storage.getCheckpoints(agentId));
  return { ...signUpsIn(records), line, completed: line.at(-1)?.status === "completed" };
}

function signUpsIn(records: readonly LogRecord[]): Pick<JournalState, "standing" | "unknown"> {
  const [standing, unknown] = [new Set<string>(), new Set<string>()];
  for (const record of records) {
    const { kind, call, effect, error } = record as Partial<Record<"kind" | "call" | "effect" | "error", string>>;
    // Pages were only read.
    if (call === undefined || effect === "none") continue;
    if (kind === "intent" || kind === "inverse") unknown.add(call);
    if (kind === "outcome" || kind === "reverted") unknown.delete(call);
    if (kind === "outcome") standing.add(call);
    if (kind === "reverted" && error === undefined) standing.delete(call);
  }
  return { standing, unknown };
}

function lineOf(checkpoints: readonly AgentCheckpointData[]): readonly AgentCheckpointData[] {
  const byId = new Map(checkpoints.map((checkpoint) => [checkpoint.checkpointId, checkpoint]));
  const line: AgentCheckpointData[] = [];
  for (let next = checkpoints.at(-1); next; next = next.parentId === undefined ? undefined : byId.get(next.parentId))
    line.unshift(next);
  return line;
}
