import { strategy, type AgentContext, type Strategy } from "agent-persistence";

/** What a node does with its input. */
export type Body = (input: string, context: AgentContext) => string | Promise<string>;

/** One node with this body. */
export function oneNode(body: Body): Strategy<string, string> {
  return strategy<string, string>("one", (g) => {
    const only = g.node("only", body);
    g.edge(g.start, only);
    g.edge(only, g.finish);
  });
}
