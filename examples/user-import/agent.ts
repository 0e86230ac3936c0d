import { join } from "node:path";
import { AIAgent, Persistence } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { importModel } from "./model.ts";
import { importTools, type ToolOptions } from "./tools.ts";

export const agentId = "user-import";

const systemPrompt = `You import people into our user database.
List them page by page with listPeople, and sign up each person of the file exactly once with signUp, all those of a page
before you list the next; several calls in one answer are welcome. When all are signed up, say so in one sentence.`;

/** The folder of the agent's log, next to the database. */
export const storageDirectory = (directory: string): string => join(directory, "agent");
export const databaseFile = (directory: string): string => join(directory, "users.db");

/** The agent, created the same way in every process. */
export function importAgent(directory: string, csvFile: string, toolOptions: Omit<ToolOptions, "csvFile">): AIAgent {
  const { tools, rollbackToolRegistry } = importTools({ csvFile, ...toolOptions });
  const { name, promptExecutor } = importModel(csvFile);
  return new AIAgent({
    id: agentId,
    promptExecutor,
    llmModel: name,
    systemPrompt,
    tools,
    maxIterations: 10_000,
  }).install(Persistence, {
    storage: new FilePersistenceStorageProvider({ directory: storageDirectory(directory) }),
    rollbackToolRegistry,
  });
}
