import { AIAgent, Persistence, persistence, type PromptExecutor } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { answer, type OpenConversation, question } from "../turns.ts";

const model: PromptExecutor = { execute: async () => ({ message: { role: "assistant", content: answer } }) };
const agentId = "bench";

/** One agent, one run a turn. */
export const openAgent: OpenConversation = async (directory) => {
  const { agent, storage } = agentIn(directory);
  return {
    ask: () => agent.run(question, { agentId, history: "continue" }),
    messages: () => persistence(agent).agent(agentId).getMessages(),
    close: () => storage.log.close(),
  };
};

export function agentIn(directory: string) {
  const storage = new FilePersistenceStorageProvider({ directory });
  return { storage, agent: new AIAgent({ promptExecutor: model, llmModel: "none" }).install(Persistence, { storage }) };
}
