import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { NewAgent } from "../RecordLog.ts";
import { askAgain, askTable, type RetriedTable } from "./askTable.ts";
import type { LogTable, TableCreation } from "./LogTable.ts";
import { encodeRow, isSameBytes } from "./TableOwnedLog.ts";
import { TableReader } from "./TableReader.ts";

const [firstGeneration, noEnd] = [1, { position: 0, checksum: "" }];

/**
 * Creates agents with one append each. Returns for each agent whether this call created it. If a response was lost, an
 * agent with the same append counts as created. For a log that is empty by then, returns the error of the lost
 * response.
 */
export async function createAgents(
  retried: RetriedTable & { readonly table: LogTable },
  agents: readonly NewAgent[],
  sha256: Sha256,
): Promise<readonly (boolean | Error)[]> {
  if (agents.length === 0) return [];
  const { table } = retried;
  const creations = agents.map(({ agentId, append }): TableCreation => {
    const { row } = encodeRow(agentId, append, firstGeneration, noEnd, sha256);
    return { agentId, append: row };
  });
  let lost: Error | undefined;
  const create = () => table.create?.(creations) ?? Promise.resolve([]);
  const created = new Set(
    await askAgain(retried, async () => {
      try {
        return await askTable(table, "creation of agents", undefined, create);
      } catch (error) {
        lost = error as Error;
        throw error;
      }
    }),
  );
  const isCreated = async ({ agentId, append: { position, encoded } }: TableCreation): Promise<boolean | Error> => {
    if (created.has(agentId) || lost === undefined) return created.has(agentId);
    const reader = new TableReader(retried, agentId, sha256);
    const found = await reader.at(position);
    if (found !== undefined) return isSameBytes(found.encoded, encoded);
    // This append was possibly stored and then deleted. If the caller created the agent again, the task of the agent
    // would run twice.
    const { end, damage } = await reader.end();
    return end.checksum === "" && damage === undefined && lost;
  };
  return Promise.all(creations.map(isCreated));
}
