import {
  AIAgent,
  Persistence,
  RollbackToolRegistry,
  tool,
  type PersistenceStorageProvider,
  type ToolEffect,
} from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { z } from "zod";
import type { Clock } from "../../../src/internal/Clock.ts";
import type { AgentWorld } from "./AgentWorld.ts";
import { agentId } from "../Picture.ts";

const inputSchema = z.object({ item: z.string() });
const call = (toolName: string, item: string) => ({ toolName, input: { item } });
const turns = [
  { toolCalls: [call("book", "flight"), call("book", "hotel")] },
  { text: "now the rest ".repeat(60), toolCalls: [call("look", "weather"), call("book", "car")] },
  { toolCalls: [call("book", "dinner")] },
  "booked",
];

/** What stands when the agent has done its work. */
export const allBooked = ["car", "dinner", "flight", "hotel"];

/** An agent as one process builds it: three rounds of tool calls, each of which can be reverted. */
export function bookingAgent(
  world: AgentWorld,
  storage: PersistenceStorageProvider,
  { effect, clock }: { readonly effect: ToolEffect; readonly clock: Clock },
): AIAgent<string, string> {
  const book = tool({
    name: "book",
    description: "",
    inputSchema,
    effect,
    execute: ({ item }, { toolCallId }) => world.do(toolCallId, item),
  });
  const unbook = tool({
    name: "unbook",
    description: "",
    inputSchema,
    effect,
    execute: ({ item }) => world.undo(item),
  });
  const look = tool({ name: "look", description: "", inputSchema, effect: "none", execute: ({ item }) => item });
  const promptExecutor = scriptedModel(turns);
  return new AIAgent({ id: agentId, llmModel: "scripted", promptExecutor, tools: [book, look] }).install(Persistence, {
    storage,
    clock,
    rollbackToolRegistry: new RollbackToolRegistry().registerRollback(book, unbook),
  });
}
