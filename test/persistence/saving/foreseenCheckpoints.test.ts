import { persistence, strategy, type AgentContext } from "agent-persistence";
import { expect, it } from "vitest";
import { durableAgent } from "../support/durableAgent.ts";
import { checkpointsOf } from "../support/stored.ts";
import { memory } from "../support/storages.ts";

/** "first" makes a checkpoint for "second". */
const foreseeing = (second: (input: string) => string) =>
  strategy<string, string>("foreseeing", (g) => {
    const first = g.node("first", async (input: string, context: AgentContext) => {
      await persistence(context).createCheckpoint({ nodeId: "second", lastInput: input });
      return input;
    });
    const last = g.node("second", second);
    g.edge(g.start, first);
    g.edge(first, last);
    g.edge(last, g.finish);
  });

it("a run that continues at a checkpoint for another node has counted the same nodes", async () => {
  const opened = await memory.open();
  const dies = (): string => {
    throw new Error("cut short");
  };
  await expect(durableAgent(foreseeing(dies), opened(), { automatic: false }).run("go")).rejects.toThrow("cut short");
  const resumed = durableAgent(
    foreseeing((input) => input),
    opened(),
    { automatic: false },
  );
  expect(await resumed.resume()).toMatchObject({ output: "go" });
  expect((await checkpointsOf(resumed)).map(({ nodeId, iteration }) => [nodeId, iteration])).toEqual([
    ["second", 1],
    ["finish", 2],
  ]);
});
