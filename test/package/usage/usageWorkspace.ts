// Files that roll back with the agent.
import { AIAgent, Persistence, persistence, type PromptExecutor } from "agent-persistence";
import { Workspace } from "agent-persistence/workspace";

declare const promptExecutor: PromptExecutor;
declare function print(...values: unknown[]): void;

// ---- 9 file rollback
const workspace = new Workspace({
  root: ".",
  onConflict: (conflict) => (conflict.kind === "file_deleted" ? "restore" : "merge"),
});
const coder = new AIAgent({ promptExecutor, llmModel: "m", tools: [...workspace.tools] }).install(Persistence, {
  participants: [workspace],
});
const saved = persistence(coder).agent("job-7");
print(await workspace.preview("cp-3"));
const report = await saved.rollbackToCheckpoint("cp-3");
print(report.reverted.length, report.irreversible.length);
