import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AIAgent, Persistence, persistence, strategy, type AgentContext } from "agent-persistence";
import { TaskManager, TaskWorker, type Task } from "agent-persistence/task";
import { scriptedModel } from "agent-persistence/testing";
import { Workspace } from "agent-persistence/workspace";
import { describe, expect, it } from "vitest";
import { Fault } from "../../persistence/support/durableAgent.ts";
import { logStorages, type Opened } from "../../persistence/support/storages.ts";
import { temporaryFolder } from "../../workspace/fixture.ts";

type Work = (write: (path: string, content: string) => Promise<unknown>, context: AgentContext) => Promise<unknown>;

/** An agent that works on files in its two nodes. */
function coder(opened: Opened, root: string, ...works: readonly [Work, Work]) {
  const workspace = new Workspace({ root });
  const [writeFile] = workspace.tools.filter(({ name }) => name === "write_file");
  const graph = strategy<string, string>("work", (g) => {
    const [first, second] = works.map((work, at) =>
      g.node(`n${at}`, async (input: string, context: AgentContext) => {
        await work((path, content) => context.tools.call(writeFile as never, { path, content } as never), context);
        return input;
      }),
    );
    g.edge(g.start, first!);
    g.edge(first!, second!);
    g.edge(second!, g.finish);
  });
  const config = { promptExecutor: scriptedModel([]), llmModel: "m", strategy: graph, tools: workspace.tools };
  return new AIAgent(config).install(Persistence, { storage: opened(), participants: [workspace] });
}

const nothing: Work = async () => {};

describe.each(logStorages)("$name: the modified files of a completed task", ({ open }) => {
  async function setup() {
    const opened = await open();
    const root = temporaryFolder();
    for (const path of ["kept.txt", "changed.txt", "back.txt"]) writeFileSync(join(root, path), path);
    const tasks = new TaskManager({ storage: opened() });
    await tasks.create({ taskId: "t", taskName: "code", inputRequest: "in" });
    const modified = async () => {
      const task = await tasks.get("t");
      const listed: Task[] = [];
      for await (const each of tasks.list({ status: "completed" })) listed.push(each);
      expect(listed).toEqual([task]);
      return task?.status === "completed" ? task.data.filesModified : undefined;
    };
    return { opened, root, tasks, modified };
  }

  it("are the files with a different final content, each once, sorted", async () => {
    const { opened, root, tasks, modified } = await setup();
    const agents = coder(
      opened,
      root,
      async (write) => {
        await write("new/z.txt", "1");
        await write("changed.txt", "1");
        await write("back.txt", "other");
      },
      async (write) => {
        await write("a.txt", "1");
        await write("changed.txt", "2");
        await write("back.txt", "back.txt");
      },
    );
    await new TaskWorker({ tasks, agents }).run();
    expect(await modified()).toEqual(["a.txt", "changed.txt", "new/z.txt"]);
  });

  it("count from the start of the run, even if another process finished it", async () => {
    const { opened, root, tasks, modified } = await setup();
    const fault = new Fault();
    const agent = () =>
      coder(
        opened,
        root,
        (write) => write("before.txt", "1"),
        async (write) => {
          fault.strike();
          await write("after.txt", "1");
        },
      );
    await expect(agent().resume({ agentId: "t" })).rejects.toThrow("stopped");
    fault.repair();
    await tasks.retry("t");
    await new TaskWorker({ tasks, agents: agent() }).run();
    expect(await modified()).toEqual(["after.txt", "before.txt"]);
    await coder(opened, root, nothing, nothing).run("another", { agentId: "t" });
    expect(await modified()).toEqual([]);
  });

  it("exclude changes that a rollback reverted", async () => {
    const { opened, root, tasks, modified } = await setup();
    let rolledBack = false;
    const agents = coder(
      opened,
      root,
      (write) => write(rolledBack ? "second.txt" : "first.txt", "1"),
      async (_write, context) => {
        if (rolledBack) return;
        rolledBack = true;
        const [first] = await persistence(context).getCheckpoints();
        await persistence(context).rollbackToCheckpoint(first?.checkpointId ?? "");
      },
    );
    await new TaskWorker({ tasks, agents }).run();
    expect(await modified()).toEqual(["second.txt"]);
  });

  it("are reported for a task that is completed by hand", async () => {
    const { opened, root, tasks, modified } = await setup();
    const fail: Work = () => Promise.reject(new Error("no"));
    const agent = coder(opened, root, (write) => write("half.txt", "1"), fail);
    await expect(agent.resume({ agentId: "t" })).rejects.toThrow("no");
    await tasks.retry("t");
    await tasks.start("t");
    await tasks.complete("t", { output: "by hand" });
    expect(await modified()).toEqual(["half.txt"]);
  });

  it("are stored in a blob if the list is long", async () => {
    const { opened, root, modified } = await setup();
    const names = Array.from({ length: 120 }, (_, at) => `${String(at).padStart(3, "0")}-${"n".repeat(100)}.txt`);
    const agent = coder(
      opened,
      root,
      async (write) => {
        for (const name of names) await write(name, "1");
      },
      nothing,
    );
    await agent.resume({ agentId: "t" });
    expect(readFileSync(join(root, names[0] ?? ""), "utf8")).toBe("1");
    expect(await modified()).toEqual(names);
    for await (const summary of opened().log.list()) expect(JSON.stringify(summary).length).toBeLessThan(1000);
    expect(await persistence(agent).agent("t").validateCheckpoint()).toMatchObject({ valid: true });
  });
});
