import {
  AIAgent,
  Persistence,
  storageKey,
  strategy,
  type AgentContext,
  type PersistenceStorageProvider,
} from "agent-persistence";
import { randomBytes } from "node:crypto";
import { z } from "zod";

const megabyte = 1024 * 1024;

/** An agent whose steps store a text of 1 MB each, which hardly compresses. */
export function agentOfLargeValues(storage: PersistenceStorageProvider, values: number): AIAgent<number, number> {
  const storing = strategy<number, number>("storing", (graph) => {
    const step = graph.node("step", (left: number, context: AgentContext) => {
      const text = randomBytes((megabyte / 4) * 3).toString("base64");
      context.storage.set(storageKey(`value ${left}`, z.string()), text);
      return left - 1;
    });
    graph.edge(graph.start, step);
    graph.edge(step, step, { when: (left) => left > 0 });
    graph.edge(step, graph.finish, { when: (left) => left <= 0 });
  });
  const promptExecutor = { execute: () => Promise.reject(new Error("No model is asked.")) };
  const agent = new AIAgent({ llmModel: "none", promptExecutor, strategy: storing, maxIterations: values + 10 });
  return agent.install(Persistence, { storage, maxCheckpointBytes: Number.MAX_SAFE_INTEGER });
}
