import type { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { type AgentInspector, inspect, type ListedAgent } from "../../inspect.ts";
import { assertFound } from "../ids/findLog.ts";
import { filterableStatuses } from "../reading/filterableStatuses.ts";
import type { StoredAgents } from "../session/storedAgents.ts";
import { answering } from "./answering.ts";

const statuses = z.enum([...filterableStatuses, "unknown"]);
const annotations = { readOnlyHint: true, openWorldHint: false };
const agentId = z.string().describe("The id of the agent.");
const checkpointId = z.string().describe("The id of a checkpoint of the agent.");

/** Adds the tools that change no data. */
export function readingTools(server: McpServer, { storage }: StoredAgents): void {
  const view = inspect(storage);
  agentTools(server, view);
  checkpointTools(server, view);
}

function agentTools(server: McpServer, view: AgentInspector): void {
  server.registerTool(
    "list_agents",
    {
      description: "Lists agents with their statuses, and why an agent makes no progress.",
      inputSchema: z.object({
        status: z.array(statuses).optional().describe("Only agents in these statuses."),
        limit: z.int().min(1).max(200).default(50),
        after: z.string().optional().describe("The cursor of the last agent of the previous page."),
      }),
      annotations,
    },
    answering(async (filter) => {
      const agents: ListedAgent[] = [];
      for await (const agent of view.agents({ ...filter, explain: true })) agents.push(agent);
      return { agents };
    }),
  );
  server.registerTool(
    "show_agent",
    {
      description: "Shows one agent: status, runs, open requests, calls in doubt, owner, damage.",
      inputSchema: z.object({ agentId }),
      annotations,
    },
    answering(async (given) => assertFound(await view.agent(given.agentId), given.agentId)),
  );
  server.registerTool(
    "explain_agent",
    {
      description: "Explains why an agent waits or makes no progress, and what continues it.",
      inputSchema: z.object({ agentId }),
      annotations,
    },
    answering(async (given) => {
      const agent = assertFound(await view.agent(given.agentId), given.agentId);
      const { status, reason, requests, inDoubt, openRollback, owner, damage } = agent;
      return { agentId: given.agentId, status, reason, requests, inDoubt, openRollback, owner, damage };
    }),
  );
}

function checkpointTools(server: McpServer, view: AgentInspector): void {
  server.registerTool(
    "list_checkpoints",
    {
      description: "Lists the newest checkpoints of an agent.",
      inputSchema: z.object({ agentId, limit: z.int().min(1).max(200).default(20) }),
      annotations,
    },
    answering(async ({ agentId: id, limit }) => withDamage(view, id, await view.checkpoints(id, { limit }))),
  );
  server.registerTool(
    "show_checkpoint",
    {
      description: "Shows one checkpoint: its newest messages, input, storage, tool calls and files.",
      inputSchema: z.object({ agentId, checkpointId, messages: z.int().min(0).max(200).default(20) }),
      annotations,
    },
    answering(async ({ agentId: id, checkpointId: at, messages }) =>
      withDamage(view, id, await view.checkpoint(id, at, { messagesLimit: messages })),
    ),
  );
  server.registerTool(
    "preview_rollback",
    {
      description: "Shows which calls a rollback to a checkpoint would revert, and which effects would stay.",
      inputSchema: z.object({ agentId, checkpointId }),
      annotations,
    },
    answering(async ({ agentId: id, checkpointId: at }) => withDamage(view, id, await view.previewRollback(id, at))),
  );
}

/** Adds the damage of a log to a document that shows only what is before it. */
async function withDamage(view: AgentInspector, id: string, document: object): Promise<object> {
  const { damage = [] } = (await view.agent(id)) ?? {};
  return damage.length === 0 ? document : { ...document, damage };
}
