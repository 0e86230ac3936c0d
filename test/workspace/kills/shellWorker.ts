import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { AIAgent, Persistence, persistence, tool } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { scriptedModel } from "agent-persistence/testing";
import { type ConflictHandler, Workspace } from "agent-persistence/workspace";
import { z } from "zod";

/** What a process is told. */
export interface ShellWorkerOptions {
  readonly directory: string;
  /** The commands of the agent, one in each turn. */
  readonly scripts: readonly string[];
  /** Rolls back to the first checkpoint. Otherwise the process runs or resumes the agent. */
  readonly rollsBack: boolean;
}

const { directory, scripts, rollsBack } = JSON.parse(process.argv[2] ?? "") as ShellWorkerOptions;
const root = join(directory, "repository", "packages", "app");

/** Reverts everything, and tells what it was asked. */
const onConflict: ConflictHandler = ({ kind, path }) => {
  appendFileSync(join(directory, "asked"), `${path}\n`);
  if (kind === "file_unreachable") return "skip";
  return kind === "file_deleted" ? "restore" : "use_checkpoint";
};

const workspace = new Workspace({ root, onConflict });
const shell = tool({
  name: "shell",
  description: "",
  inputSchema: z.object({ script: z.string() }),
  effect: "idempotent",
  execute: ({ script }, { context }) =>
    workspace.capture(context, async () => {
      writeSync(1, "starts\n");
      // The commands are killed with the group of this process.
      await once(spawn("sh", ["-c", script], { cwd: root, stdio: "ignore" }), "close");
    }),
});
const turns = scripts.map((script) => ({ toolCalls: [{ toolName: "shell", input: { script } }] }));
const agent = new AIAgent({
  id: "a",
  llmModel: "m",
  promptExecutor: scriptedModel([...turns, "done"]),
  tools: [shell],
}).install(Persistence, {
  storage: new FilePersistenceStorageProvider({ directory: join(directory, "store") }),
  participants: [workspace],
});

if (rollsBack) {
  const saved = persistence(agent).agent();
  const [first] = await saved.getCheckpoints();
  if (first) await saved.rollbackToCheckpoint(first.checkpointId);
} else {
  await agent.run("go", { runId: "r" });
}
