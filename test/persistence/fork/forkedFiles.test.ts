import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AIAgent, type AgentContext, Persistence, persistence } from "agent-persistence";
import { scriptedModel, SimulatedClock } from "agent-persistence/testing";
import { Workspace } from "agent-persistence/workspace";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { temporaryFolder, treeOf } from "../../workspace/fixture.ts";
import { chain } from "../support/calledAgents.ts";
import { NotebookParticipant } from "../support/NotebookParticipant.ts";
import { logStorages } from "../support/storages.ts";

describe.each(logStorages)("$name: a rollback of a fork past its origin", (storage) => {
  it("reverts only the files of the fork, and names the owner of the other notes", async () => {
    const opened = await storage.open();
    const root = temporaryFolder();
    writeFileSync(join(root, "plan"), "empty");
    const pages = new Map<string, string>();
    let notebook = new NotebookParticipant(pages);
    const agent = () => {
      const workspace = new Workspace({ root });
      notebook = new NotebookParticipant(pages);
      const [write] = workspace.tools.filter(({ name }) => name === "write_file");
      const note = (name: string) => async (text: string, context: AgentContext) => {
        const content = `${readFileSync(join(root, "plan"), "utf8")} ${name} of ${context.agentId}`;
        await context.tools.call(write as never, { path: "plan", content } as never);
        await context.tools.call(write as never, { path: `${name}-${context.agentId}`, content: name } as never);
        await context.tools.call(notebook.write, { page: name, text: context.agentId });
        return text;
      };
      return new AIAgent({
        id: "a",
        llmModel: "m",
        promptExecutor: scriptedModel([]),
        strategy: chain("three", {
          one: note("one"),
          two: note("two"),
          wait: async (text, context) => context.requestInput({ prompt: text, schema: z.string() }),
          three: note("three"),
        }),
        tools: [...workspace.tools, ...notebook.tools],
      }).install(Persistence, {
        storage: opened(),
        clock: new SimulatedClock(),
        participants: [workspace, notebook],
      });
    };
    await agent().run("go");
    const durable = persistence(agent()).agent("a");
    const fork = await durable.fork("b");
    const [first, ...checkpoints] = await fork.getCheckpoints();
    const shown = (await durable.getCheckpoints()).map(({ fileChanges }) => fileChanges);
    expect([first, ...checkpoints].slice(0, shown.length).map((each) => each?.fileChanges)).toEqual(shown);
    const before = treeOf(root);
    for (const { requestId } of await fork.getRequests()) await fork.answer(requestId, "on");
    expect(await agent().resume({ agentId: "b" })).toMatchObject({ output: "on" });
    expect(treeOf(root)).toMatchObject({ "three-b": "644 three", plan: expect.stringContaining("three of b") });
    const builder = agent();
    const report = await persistence(builder)
      .agent("b")
      .rollbackToCheckpoint(first?.checkpointId ?? "");
    expect(treeOf(root)).toEqual(before);
    expect(Object.fromEntries(pages)).toEqual({ one: "a", two: "a", three: "" });
    expect(notebook.asked.filter((each) => each.startsWith("plan"))).toEqual([`plan ${first?.checkpointId} of 1`]);
    expect(report.participants?.map(({ key, steps }) => [key, steps.length])).toEqual([
      ["files", 2],
      ["notebook", 1],
    ]);
    expect(report.skipped.map(({ toolName, owner }) => [toolName, owner])).toEqual(
      ["two", "one"].flatMap(() => [
        ["write", "a"],
        ["write_file", "a"],
        ["write_file", "a"],
      ]),
    );
    expect(await persistence(agent()).agent("a").getRequests()).toHaveLength(1);
    const own = await durable.rollbackToCheckpoint(first?.checkpointId ?? "");
    expect(treeOf(root)).toEqual({ plan: "644 empty" });
    expect(own.skipped.filter(({ owner }) => owner !== undefined)).toEqual([]);
  });
});
