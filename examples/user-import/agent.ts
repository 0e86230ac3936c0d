import { join } from "node:path";
import { AIAgent, Persistence, type PersistenceStorageProvider } from "agent-persistence";
import { importModel } from "./model.ts";
import { importTools, type ToolOptions } from "./tools.ts";

export const agentId = "user-import";

const systemPrompt = `You import people into our user database.
List them page by page with listPeople, and sign up each person of the file exactly once with signUp, all those of a page
before you list the next; several calls in one answer are welcome. When all are signed up, say so in one sentence.`;

/** The users, next to the storage of the agent. */
export const databaseFile = (directory: string): string => join(directory, "users.db");

/** The agent, created the same way in every process. */
export function importAgent(
  storage: PersistenceStorageProvider,
  csvFile: string,
  toolOptions: Omit<ToolOptions, "csvFile">,
): AIAgent {
  const { tools, rollbackToolRegistry } = importTools({ csvFile, ...toolOptions });
  const { name, promptExecutor } = importModel(csvFile);
  return new AIAgent({
    id: agentId,
    promptExecutor,
    llmModel: name,
    systemPrompt,
    tools,
    maxIterations: 10_000,
  }).install(Persistence, { storage, rollbackToolRegistry });
}
