import { type AgentContext, persistence, RollbackToolRegistry, strategy, tool } from "agent-persistence";
import { expect, it } from "vitest";
import { z } from "zod";
import { impatientClock } from "../../agent/impatientClock.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";

it.each(logStorages)("$name: a rollback within a run shows a call that still runs as failed", async ({ open }) => {
  const done: string[] = [];
  const reports: unknown[] = [];
  let begin: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const add = tool({
    name: "add",
    description: "",
    inputSchema: z.object({}),
    effect: "idempotent",
    execute: () => {
      done.push("add");
      begin();
      return new Promise<string>(() => undefined);
    },
  });
  const registry = new RollbackToolRegistry().registerRollback(add, () => void done.push("undo"));
  let moves = 0;
  const built = strategy<string, string>("s", (graph) => {
    const first = graph.node("first", async (text: string) => text);
    const second = graph.node("second", async (text: string, context: AgentContext) => {
      if (moves++ > 0) return text;
      context.tools.call(add, {}).catch(() => undefined);
      await begun;
      const { reverted, failed, ...report } = await persistence(context).rollbackToLatestCheckpoint();
      reports.push([reverted, failed].map((calls) => calls.map(({ toolName }) => toolName)));
      return { reverted, failed, ...report } as unknown as string;
    });
    graph.edge(graph.start, first);
    graph.edge(first, second);
    graph.edge(second, graph.finish);
  });
  const opened = await open();
  const agent = durableAgent(built, opened(), { tools: [add], registry, clock: impatientClock() });
  expect(await agent.run("go")).toMatchObject({ output: "go" });
  expect(reports).toEqual([[[], ["add"]]]);
  expect(done).toEqual(["add"]);
});
