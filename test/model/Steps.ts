import {
  AIAgent,
  Persistence,
  RollbackToolRegistry,
  storageKey,
  strategy,
  type PersistenceStorageProvider,
} from "agent-persistence";
import { scriptedModel, type SimulatedClock } from "agent-persistence/testing";
import { z } from "zod";
import { World } from "../persistence/support/World.ts";

export const agentId = "modelled";

const count = storageKey("count", z.int());

/** A world, and the agent that acts on it: each step books, says so, and counts. */
export class Steps {
  readonly world = new World();
  readonly #book = this.world.adder("book", "idempotent");
  readonly #registry = new RollbackToolRegistry().registerRollback(
    this.#book,
    (_input, { toolCallId, output }) => this.world.remove(toolCallId, output.made),
    { effect: "idempotent" },
  );

  /** As one process builds it. Its input is the number of steps to take, its output says that they were taken. */
  agent(storage: PersistenceStorageProvider, clock: SimulatedClock): AIAgent<number, string> {
    const steps = strategy<number, string>("steps", (graph) => {
      const step = graph.node("step", async (left: number, context) => {
        const item = `${left}`;
        await context.tools.call(this.#book, { item });
        context.llm.append({ role: "user", content: `booked ${item}` });
        context.storage.set(count, (context.storage.get(count) ?? 0) + 1);
        return left - 1;
      });
      graph.edge(graph.start, step);
      graph.edge(step, step, { when: (left) => left > 0 });
      graph.edge(step, graph.finish, { map: () => "taken" });
    });
    return new AIAgent({
      id: agentId,
      llmModel: "none",
      promptExecutor: scriptedModel([]),
      strategy: steps,
      tools: [this.#book],
      maxIterations: 1_000,
    }).install(Persistence, { storage, clock, rollbackToolRegistry: this.#registry });
  }
}
