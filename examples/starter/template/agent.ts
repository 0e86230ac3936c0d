import { AIAgent, Persistence, RollbackToolRegistry, tool } from "agent-persistence";
import type { PersistenceStorageProvider, PromptExecutor } from "agent-persistence";
import { z } from "zod";

/** The booked seats by tool-call id. Replace this with a table of your database, with the id as its unique key. */
export type Seats = Map<string, string>;

/** Makes the agent. Every process makes it, with the same storage. */
export function bookingAgent(options: {
  readonly promptExecutor: PromptExecutor;
  readonly llmModel: string;
  readonly storage: PersistenceStorageProvider;
  readonly seats: Seats;
}): AIAgent {
  const { promptExecutor, llmModel, storage, seats } = options;
  const bookSeat = tool({
    name: "bookSeat",
    description: "Books one seat of a train for a person.",
    inputSchema: z.object({ name: z.string() }),
    effect: "idempotent", // the same call has the same toolCallId, so repeating it changes nothing
    execute: ({ name }, { toolCallId }) => void seats.set(toolCallId, name),
  });
  const rollbackToolRegistry = new RollbackToolRegistry().registerRollback(
    bookSeat,
    (_input, { toolCallId }) => void seats.delete(toolCallId),
    { effect: "idempotent" },
  );
  const agent = new AIAgent({ promptExecutor, llmModel, tools: [bookSeat] });
  return agent.install(Persistence, { storage, rollbackToolRegistry });
}
