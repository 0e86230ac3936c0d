import { callModel, callTools, hasToolCalls, strategy, textOf } from "agent-persistence";

/** The loop that an agent without a strategy has, with the names of its nodes. */
export const defaultLoop = strategy<string, string>("loop", (g) => {
  const ask = g.node("callModel", callModel);
  const act = g.node("callTools", callTools);
  g.edge(g.start, ask);
  g.edge(ask, act, { when: hasToolCalls });
  g.edge(act, ask);
  g.edge(ask, g.finish, { when: (message) => !hasToolCalls(message), map: textOf });
});
