import { printEvents, strategy, type AgentContext, type PersistenceEvent } from "agent-persistence";
import { recoverTask, TaskManager } from "agent-persistence/task";
import { describe, expect, it } from "vitest";
import { durableAgent, Fault, Stopped } from "../../persistence/support/durableAgent.ts";
import { logStorages } from "../../persistence/support/storages.ts";

/** Says how far it is, and stops in its third node. */
const reporting = (fault: Fault) =>
  strategy<string, string>("s", (graph) => {
    const [read, sort] = (["read", "sort"] as const).map((name, at) =>
      graph.node(name, (input: string, context: AgentContext) => {
        context.setProgress(40 * (at + 1), `${name} is done`);
        return input;
      }),
    );
    const write = graph.node("write", (input: string) => {
      fault.strike();
      return input;
    });
    graph.edge(graph.start, read!);
    graph.edge(read!, sort!);
    graph.edge(sort!, write);
    graph.edge(write, graph.finish);
  });

describe.each(logStorages)("$name: who resumes a task", (storage) => {
  it("a recovery shows the task, the iteration and the last progress before it runs anything", async () => {
    const opened = await storage.open();
    const tasks = new TaskManager({ storage: opened() });
    await tasks.create({ taskId: "t", taskName: "import", inputRequest: "in" });
    const fault = new Fault();
    await expect(durableAgent(reporting(fault), opened()).resume({ agentId: "t" })).rejects.toBeInstanceOf(Stopped);
    fault.repair();
    const told: PersistenceEvent[] = [];
    const lines: string[] = [];
    const print = printEvents((line) => lines.push(line));
    const onEvent = (event: PersistenceEvent) => {
      told.push(event);
      return print(event);
    };
    await recoverTask(durableAgent(reporting(fault), opened(), { onEvent }), { agentId: "t" });
    const kinds = told.map(({ type }) => type);
    const notice = told.find(({ type }) => type === "recovery_notice");
    expect(notice).toMatchObject({
      agentId: "t",
      task: "import",
      nodeId: "write",
      iteration: 2,
      progress: 80,
      progressSummary: "sort is done",
    });
    expect(kinds.indexOf("recovery_notice")).toBeLessThan(kinds.indexOf("checkpoint_restored"));
    expect(lines).toContainEqual(
      expect.stringContaining("recovered import, next write, iteration 2, 80 %, sort is done") as string,
    );
  });
});
