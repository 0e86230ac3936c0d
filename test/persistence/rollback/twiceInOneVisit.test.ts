import {
  type AgentContext,
  type AssistantMessage,
  type CheckpointTrigger,
  hasToolCalls,
  persistence,
  RollbackToolRegistry,
  strategy,
} from "agent-persistence";
import { expect, it } from "vitest";
import { durableAgent } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";
import { World } from "../support/World.ts";

const aroundCalls: CheckpointTrigger = {
  name: "around_calls",
  priority: "high",
  isDue: ({ kind }) => kind === "tool_call_starting" || kind === "tool_call_completed",
};

it.each(logStorages)(
  "$name: a call repeated after a rollback is not repeated by a second rollback to after the call",
  async (storage) => {
    const world = new World();
    const book = world.adder("book");
    let moves = 0;
    const back = async (context: AgentContext) => {
      const within = (await persistence(context).getCheckpoints()).filter(({ trigger }) => trigger === "around_calls");
      const target = moves === 1 ? within[0] : within.at(-1);
      return persistence(context).rollbackToCheckpoint(target?.checkpointId ?? "none");
    };
    const built = strategy<string, string>("twice", (graph) => {
      const ask = graph.node("ask", async (text: string, context: AgentContext) => {
        context.llm.append({ role: "user", content: text });
        const answer = await context.llm.request();
        context.llm.append(answer);
        return answer;
      });
      const act = graph.node("act", async (message: AssistantMessage, context: AgentContext): Promise<string> => {
        await context.tools.execute(message);
        if (moves++ < 2) return (await back(context)) as unknown as string;
        return "done";
      });
      graph.edge(graph.start, ask);
      graph.edge(ask, act, { when: hasToolCalls });
      graph.edge(act, graph.finish);
    });
    const opened = await storage.open();
    const agent = durableAgent(built, opened(), {
      tools: [book],
      registry: new RollbackToolRegistry().registerRollback(book, ({ item }, { toolCallId }) =>
        world.remove(toolCallId, item),
      ),
      triggers: [aroundCalls],
      turns: [{ toolCalls: [{ toolName: "book", input: { item: "room" } }] }],
    });
    expect(await agent.run("go")).toMatchObject({ output: "done" });
    expect(world.done).toEqual(["book room", "undo room", "book room"]);
  },
);
