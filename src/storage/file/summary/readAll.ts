import type { AgentSummary } from "../../RecordLog.ts";
import { isAgentFolderName } from "../layout/AgentFolder.ts";
import type { FileBackend } from "../owner/FileBackend.ts";
import { inTurn } from "./inTurn.ts";
import { type ListedAgent, readListed } from "./readListed.ts";

interface FoundAgents {
  readonly summaries: readonly AgentSummary[];
  readonly dropped: number;
}

/**
 * Reads all agents, regardless of the index.
 *
 * @param isReady - whether an index exists. If so, skips agents that it lists as deleted, and adds missing agents to
 * it.
 */
export async function readAll(backend: FileBackend, isReady: boolean): Promise<FoundAgents> {
  const marked = isReady ? await markedPositions(backend) : new Map<string, number>();
  const gone = isReady ? await backend.index.dropped() : new Set<string>();
  const names = ((await backend.disk.readdir(backend.tasks)) ?? []).filter(
    (name) => isAgentFolderName(name) && (marked.has(name) || !gone.has(name)),
  );
  const found = await inTurn(names, async (name) => {
    const agent = await readListed(backend, name, marked.get(name));
    if (isReady && !marked.has(name)) await mend(backend, name, agent).catch(() => {});
    return agent;
  });
  return {
    summaries: found.flatMap(({ summary }) => summary ?? []),
    dropped: found.filter(({ dropped }) => dropped).length,
  };
}

async function markedPositions({ index }: FileBackend): Promise<ReadonlyMap<string, number>> {
  const positions = new Map<string, number>();
  for (const of of await index.statusFolders())
    for await (const { folder, position } of index.marks(of))
      positions.set(folder, Math.max(position, positions.get(folder) ?? 0));
  return positions;
}

/**
 * Repairs the index for an agent directory that was copied here, or whose deletion was not marked because of a crash.
 */
async function mend({ index }: FileBackend, name: string, { summary, dropped }: ListedAgent): Promise<void> {
  if (summary) await index.mark(name, { summary, generation: 0 });
  if (dropped) await index.markDropped(name);
}
