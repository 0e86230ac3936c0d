import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { agentDirectory, agentId } from "../worker/identity.ts";

/** What a log says, opened anew. */
export interface Recorded {
  readonly checkpointIds: ReadonlySet<string>;
  /** Ids of the calls that have an outcome. */
  readonly calls: readonly string[];
}

export async function readRecorded(directory: string): Promise<Recorded> {
  const storage = new FilePersistenceStorageProvider({ directory: agentDirectory(directory) });
  const checkpoints = await storage.getCheckpoints(agentId);
  const calls: string[] = [];
  for await (const { records } of storage.log.read(agentId)) {
    for (const record of records) if (record.kind === "outcome" && "call" in record) calls.push(String(record.call));
  }
  return { checkpointIds: new Set(checkpoints.map(({ checkpointId }) => checkpointId)), calls };
}
