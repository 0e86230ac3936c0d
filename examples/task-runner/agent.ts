import { setTimeout as passes } from "node:timers/promises";
import { AIAgent, Persistence, strategy, type PersistenceStorageProvider } from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";

/** The input of a task. */
export interface Region {
  readonly region: string;
  readonly sales: readonly number[];
}

/** Reports on a region in three steps, and calls `tell` as each begins. No step asks a model, so you need no API key. */
export function reporter(
  storage: PersistenceStorageProvider,
  tell: (step: string, region: string) => void,
): AIAgent<Region, string> {
  const report = strategy<Region, string>("report", (graph) => {
    const collect = graph.node("collect", async ({ region, sales }: Region, context) => {
      tell("collect", region);
      await passes(60);
      context.setProgress(30, `${sales.length} sales collected`);
      return { region, sales };
    });
    const add = graph.node("add", async ({ region, sales }: Region, context) => {
      tell("add", region);
      await passes(500);
      context.setProgress(70, "sales added up");
      return { region, total: sales.reduce((sum, sale) => sum + sale, 0) };
    });
    const write = graph.node(
      "write",
      async ({ region, total }: { readonly region: string; readonly total: number }) => {
        tell("write", region);
        await passes(60);
        return `${region}: ${total}`;
      },
    );
    graph.edge(graph.start, collect);
    graph.edge(collect, add);
    graph.edge(add, write);
    graph.edge(write, graph.finish);
  });
  const agent = new AIAgent({ promptExecutor: scriptedModel([]), llmModel: "none", strategy: report });
  return agent.install(Persistence, {
    storage,
    onEvent: (event) => {
      if (event.type === "recovery_notice") tell(`continues after "${event.progressSummary}" with`, event.agentId);
    },
  });
}
