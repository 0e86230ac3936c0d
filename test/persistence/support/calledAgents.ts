import {
  AIAgent,
  type AgentContext,
  type AIAgentConfig,
  Persistence,
  type PersistenceConfig,
  strategy,
  type Strategy,
  type Tool,
} from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { z } from "zod";

export type NodeBody = (text: string, context: AgentContext) => string | Promise<string>;
export type AgentTool = Tool<{ topic: string }, string>;

interface CalledOptions {
  readonly config?: Partial<AIAgentConfig<string, string>>;
  /** `false`: it has no Persistence. */
  readonly persistence?: PersistenceConfig | false;
  readonly needsApproval?: boolean;
}

/** A strategy of nodes one after another. */
export function chain(name: string, nodes: Readonly<Record<string, NodeBody>>): Strategy<string, string> {
  return strategy<string, string>(name, (graph) => {
    const refs = Object.entries(nodes).map(([node, body]) => graph.node(node, body));
    const last = refs.reduce(
      (before, node) => {
        graph.edge(before, node);
        return node;
      },
      graph.start as (typeof refs)[number],
    );
    graph.edge(last, graph.finish);
  });
}

/** An agent as a tool of its name. */
export function called(
  name: string,
  built: Strategy<string, string>,
  { config, persistence = {}, needsApproval }: CalledOptions = {},
): AgentTool {
  const agent = new AIAgent({ llmModel: name, promptExecutor: scriptedModel([]), strategy: built, ...config });
  if (persistence) agent.install(Persistence, persistence);
  return agent.asTool({
    name,
    description: "",
    inputSchema: z.object({ topic: z.string() }),
    input: ({ topic }) => topic,
    ...(needsApproval !== undefined && { needsApproval }),
  });
}
