import {
  AIAgent,
  Persistence,
  strategy,
  type AgentContext,
  type PersistenceListener,
  type PersistenceStorageProvider,
} from "agent-persistence";
import { SimulatedClock } from "agent-persistence/testing";
import { Fault } from "./durableAgent.ts";
import type { TestEnvironment } from "./TestEnvironment.ts";

/** Requires two files and a version in its first node, changes one of the files itself, and stops in the second. */
export function requiringAgent(
  storage: PersistenceStorageProvider,
  environment: TestEnvironment | undefined,
  { fault = new Fault(), onEvent }: { readonly fault?: Fault; readonly onEvent?: PersistenceListener } = {},
): AIAgent<string, string> {
  const graph = strategy<string, string>("s", (g) => {
    const first = g.node("first", (input: string, context: AgentContext) => {
      context.require({ files: ["read.txt", "written.txt", "absent.txt"], environment: { node: "22" } });
      context.setProgress(40, "half of it");
      environment?.files.set("/project/written.txt", "by the agent");
      return input;
    });
    const second = g.node("second", (input: string) => {
      fault.strike();
      return input;
    });
    g.edge(g.start, first);
    g.edge(first, second);
    g.edge(second, g.finish);
  });
  return new AIAgent({
    id: "a",
    llmModel: "none",
    promptExecutor: { execute: () => Promise.reject(new Error("no model")) },
    strategy: graph,
  }).install(Persistence, {
    storage,
    clock: new SimulatedClock(),
    ...(environment && { environment }),
    ...(onEvent && { onEvent }),
  });
}
