import { AIAgent, Persistence, RollbackToolRegistry, type AnyTool } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { Workspace, type ConflictHandler } from "agent-persistence/workspace";
import { codingModel } from "./model.ts";
import type { Repository } from "./Repository.ts";
import { branchTool, removeBranch, testTool } from "./tools.ts";

export const agentId = "coder";
export const task =
  'Make greet in src/greetings.mjs say "Good day" instead of "Hello", on a branch named "polite". Say in NOTES.md what you ' +
  "changed, and run the tests.";

const systemPrompt = `You change a small JavaScript project. Begin with a branch of its own. Change as little as the task
asks for, with edit_file where a file exists. Run the tests at the end, then say in one sentence what you did.`;

/** The agent as each process builds it, with its workspace. */
export function codingAgent(repository: Repository, storageDirectory: string, onConflict?: ConflictHandler) {
  const workspace = new Workspace({ root: repository.root, ...(onConflict && { onConflict }) });
  const createBranch = branchTool(repository);
  const { name, promptExecutor } = codingModel();
  const tools: readonly AnyTool[] = [...workspace.tools, createBranch, testTool(repository, workspace)];
  const agent = new AIAgent({ id: agentId, promptExecutor, llmModel: name, systemPrompt, tools }).install(Persistence, {
    storage: new FilePersistenceStorageProvider({ directory: storageDirectory }),
    rollbackToolRegistry: new RollbackToolRegistry().registerRollback(createBranch, removeBranch(repository)),
    participants: [workspace],
  });
  return { agent, workspace };
}
