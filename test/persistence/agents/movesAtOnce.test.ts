import { type AgentContext, persistence, RollbackToolRegistry } from "agent-persistence";
import { ExecutionMovedError } from "agent-persistence/errors";
import { describe, expect, it } from "vitest";
import { gate } from "../../agent/gate.ts";
import { called, chain } from "../support/calledAgents.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";
import { World } from "../support/World.ts";

const rollBackTo = async (context: AgentContext, input: string) => {
  const target = (await persistence(context).getCheckpoints()).find(({ lastInput }) => lastInput === input);
  return persistence(context).rollbackToCheckpoint(target?.checkpointId ?? "none");
};

describe.each(logStorages)("$name: called agents that run at once", (storage) => {
  it("can all roll back at once, two of them to checkpoints before their calls, without waiting for each other", async () => {
    const world = new World();
    const undoing = gate();
    const asked = [gate(), gate()] as const;
    const book = world.adder("book", "idempotent");
    const registry = new RollbackToolRegistry().registerRollback(book, async ({ item }, { toolCallId }) => {
      world.remove(toolCallId, item);
      undoing.open();
      for (const { opened } of asked) await opened;
    });
    const refused: unknown[] = [];
    let moves = 0;
    const goBack = async (topic: string, context: AgentContext): Promise<unknown> => {
      if (moves++ >= 3) return topic;
      const other = asked[Number(topic)];
      if (!other) {
        await context.tools.call(book, { item: topic });
        return rollBackTo(context, topic);
      }
      await undoing.opened;
      const moved = rollBackTo(context, "go");
      moved.catch((error: unknown) => refused.push(error));
      // Both moves wait for that of the first agent.
      for (let reads = 0; reads < 2; reads++) await persistence(context).getCheckpoints();
      other.open();
      return moved;
    };
    const inner = chain("inner", { one: async (topic, context) => (await goBack(topic, context)) as string });
    const ask = called("ask", inner, { config: { tools: [book] }, persistence: { rollbackToolRegistry: registry } });
    const outer = chain("outer", {
      one: async (text, { tools }) => {
        await Promise.all(["first", "0", "1"].map((topic) => tools.call(ask, { topic })));
        return `${text} asked`;
      },
    });
    const opened = await storage.open();
    expect(await durableAgent(outer, opened(), { tools: [ask] }).run("go")).toMatchObject({ output: "go asked" });
    expect(refused.map((error) => error instanceof ExecutionMovedError)).toEqual([true]);
    expect(world.items).toEqual([]);
  });
});
