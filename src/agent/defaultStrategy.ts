import { callModel } from "./callModel.ts";
import { callTools } from "./callTools.ts";
import { hasToolCalls } from "./hasToolCalls.ts";
import { strategy, type Strategy } from "./Strategy.ts";
import { textOf } from "./textOf.ts";

/** The loop of an agent without a strategy: ask the model, run the tools it asks for, until it asks for none. */
export const defaultStrategy: Strategy<string, string> = strategy<string, string>("default", (graph) => {
  const ask = graph.node("callModel", callModel);
  const act = graph.node("callTools", callTools);
  graph.edge(graph.start, ask);
  graph.edge(ask, act, { when: hasToolCalls });
  graph.edge(act, ask);
  graph.edge(ask, graph.finish, { map: textOf });
});
