import { expect } from "vitest";
import { z } from "zod";
import { persistence, RollbackToolRegistry, strategy, tool } from "agent-persistence";
import { FileRecordLog } from "agent-persistence/file";
import { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { durableAgent, Fault, Stopped } from "../../persistence/support/durableAgent.ts";
import { nextOwner, testDirectory, TestMachine } from "../file/support/fixture.ts";

/**
 * An agent that was stopped in its second node; records with right checksums are then put behind its own. Its tools accept
 * any input, may be repeated, and have inverses.
 */
export async function craftLog(records: (version: number) => readonly object[]) {
  const directory = await testDirectory();
  const machine = new TestMachine();
  const fault = new Fault();
  const began: unknown[] = [];
  const [act, other] = ["act", "other"].map((name) =>
    tool({
      name,
      description: name,
      effect: "idempotent",
      inputSchema: z.any(),
      execute: (input) => void began.push([name, input]),
    }),
  ) as [ReturnType<typeof tool>, ReturnType<typeof tool>];
  const undo = (input: unknown) => void began.push(["undo", input]);
  const steps = strategy<string, string>("s", (graph) => {
    const first = graph.node("first", (input: string, context) => {
      context.llm.append({ role: "user", content: input });
      return input;
    });
    const second = graph.node("second", (input: string) => {
      fault.strike();
      return input;
    });
    graph.edge(graph.start, first);
    graph.edge(first, second);
    graph.edge(second, graph.finish);
  });
  const log = () => new FileRecordLog({ directory, processIdentity: machine.start() });
  const agent = () =>
    durableAgent(steps, new LogPersistenceStorageProvider(log()), {
      tools: [act, other],
      registry: new RollbackToolRegistry().registerRollback(act, undo).registerRollback(other, undo),
    });
  await expect(agent().run("in", { runId: "r" })).rejects.toBeInstanceOf(Stopped);
  const checkpoints = await persistence(agent()).agent().getCheckpoints();
  const owned = await log().open("a", nextOwner());
  const made = records((checkpoints.at(-1)?.version ?? 0) + 1);
  await owned.append({ id: "crafted", records: made as never }, owned.position);
  await owned.release();
  fault.repair();
  return { directory, agent, log, began, durable: () => persistence(agent()).agent() };
}
