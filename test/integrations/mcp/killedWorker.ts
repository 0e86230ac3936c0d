import { writeSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { AIAgent, type AgentPersistenceError, Persistence } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { mcpTools } from "agent-persistence/mcp";
import { scriptedModel } from "agent-persistence/testing";

/** Runs an agent that calls one tool of a server in a process of its own, and prints its end. */
const [directory = "", server = "", tool = "", victim = ""] = process.argv.slice(2);
const client = new Client({ name: "desk", version: "1.0.0" });
const args = [server, join(directory, "deeds"), victim];
await client.connect(new StdioClientTransport({ command: process.execPath, args }));
const agent = new AIAgent({
  promptExecutor: scriptedModel([{ toolCalls: [{ toolName: tool, input: { room: "7" } }] }, "done"]),
  llmModel: "m",
  tools: await mcpTools(client),
});
agent.install(Persistence, { storage: new FilePersistenceStorageProvider({ directory: join(directory, "agents") }) });
const end = await agent.run("go", { agentId: "a", runId: "r" }).then(
  ({ status }) => status,
  (error: AgentPersistenceError) => error.code,
);
writeSync(1, end);
await client.close();
