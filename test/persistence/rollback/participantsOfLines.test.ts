import {
  type AgentContext,
  persistence,
  type PersistenceStorageProvider,
  RollbackToolRegistry,
} from "agent-persistence";
import { crashAfter } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { gate } from "../../agent/gate.ts";
import { called, chain } from "../support/calledAgents.ts";
import { durableAgent, Fault } from "../support/durableAgent.ts";
import { bothEnded, everyLine, type TwoLines } from "../support/lineKinds.ts";
import { NotebookParticipant } from "../support/NotebookParticipant.ts";
import { logStorages, memory } from "../support/storages.ts";
import { World } from "../support/World.ts";

const all = (...[line1, line2, beside]: readonly string[]) =>
  new Map(Object.entries({ "line 1": line1, "line 2": line2, beside }));
const written = all("1", "2", "b");
const blank = all("", "", "");

describe.each(everyLine(logStorages))("a participant in a rollback with lines, %s", (_name, storage, kind) => {
  /** Two lines that write pages: one writes twice, and stops then if it is to. */
  async function notebooks(fault?: Fault) {
    const opened = await storage.open();
    const [world, pages] = [new World(), new Map<string, string>()];
    const process = (provider: PersistenceStorageProvider = opened()) => {
      const notebook = new NotebookParticipant(pages);
      const { write } = notebook;
      const build = kind.build(
        world,
        {
          line: async (role, { tools }) => {
            await tools.call(write, { page: "line 1", text: "1" });
            await tools.call(write, { page: "line 2", text: "2" });
            fault?.strike();
            return role;
          },
          beside: async (role, { tools }) => {
            await tools.call(write, { page: "beside", text: "b" });
            return role;
          },
        },
        { tools: [write] },
      );
      const agent = build(provider, { participants: [notebook] });
      return { agent, notebook, outside: persistence(agent).agent("a") };
    };
    return { opened, pages, process };
  }

  it("reverts the notes of all lines, and receives them again", async () => {
    const { pages, process } = await notebooks();
    expect(await process().agent.run("go")).toMatchObject({ output: bothEnded });
    expect(pages).toEqual(written);
    const { agent, notebook, outside } = process();
    const [first] = await outside.getCheckpoints();
    const report = await outside.rollbackToCheckpoint(first?.checkpointId ?? "");
    expect(report.participants).toMatchObject([{ key: "notebook", steps: [{}, {}, {}] }]);
    expect(notebook.asked.filter((asked) => asked.startsWith("plan"))).toEqual([`plan ${first?.checkpointId} of 3`]);
    expect(pages).toEqual(blank);
    expect(await agent.resume()).toMatchObject({ output: bothEnded });
    expect(pages).toEqual(written);
  });

  it("reverts the notes of one line since its checkpoint, and leaves the others", async () => {
    const fault = new Fault();
    const { pages, process } = await notebooks(fault);
    await expect(process().agent.run("go")).rejects.toThrow("stopped");
    fault.repair();
    expect(pages).toEqual(written);
    const { agent, notebook, outside } = process();
    const target = (await outside.getCheckpoints()).find(
      ({ nodeId, lastInput }) => nodeId.endsWith("act") && lastInput === "line",
    );
    await outside.rollbackToCheckpoint(target?.checkpointId ?? "");
    expect(notebook.asked).toEqual([`plan ${target?.checkpointId} of 2`, "apply line 2", "apply line 1"]);
    expect(pages).toEqual(all("", "", "b"));
    expect(await agent.resume()).toMatchObject({ output: bothEnded });
    expect(pages).toEqual(written);
    expect(notebook.asked.slice(3)).toEqual(["write line 1", "write line 2"]);
  });

  // In memory alone: it takes long on files.
  if (storage !== memory) return;

  it("reverts each note once after a crash at any append of a rollback within a line", async () => {
    for (let saves = 0, isOver = false; !isOver; saves++) {
      const fault = new Fault();
      const { opened, pages, process } = await notebooks(fault);
      await expect(process().agent.run("go")).rejects.toThrow("stopped");
      fault.repair();
      const { checkpointId = "" } =
        (await process().outside.getCheckpoints()).find(
          ({ nodeId, lastInput }) => nodeId.endsWith("act") && lastInput === "line",
        ) ?? {};
      const crashing = process(crashAfter(opened(), saves));
      isOver = await crashing.outside.rollbackToCheckpoint(checkpointId).then(
        () => true,
        () => false,
      );
      if (!isOver) await process().outside.rollbackToCheckpoint(checkpointId);
      expect(pages, `after ${saves}`).toEqual(all("", "", "b"));
      expect(await process().agent.resume(), `after ${saves}`).toMatchObject({ output: bothEnded });
      expect(pages, `after ${saves}`).toEqual(written);
    }
  });
});

describe.each(everyLine(logStorages))("the checkpoint of a resume that continued lines, %s", (_name, storage, kind) => {
  /** An agent whose lines stopped, continued from a checkpoint of one of them, and stopped again. */
  async function resumed() {
    const opened = await storage.open();
    const [world, fault, pages] = [new World(), new Fault(), new Map<string, string>()];
    const isBesideWritten = gate();
    const process = () => {
      const notebook = new NotebookParticipant(pages);
      const book = world.adder("book");
      const registry = new RollbackToolRegistry().registerRollback(book, ({ item }, { toolCallId }) =>
        world.remove(toolCallId, item),
      );
      const effect = async ({ tools }: AgentContext, page: string, text: string) => {
        await tools.call(book, { item: page });
        await tools.call(notebook.write, { page, text });
      };
      const lines: TwoLines = {
        line: async (role, context) => {
          await effect(context, "line 1", "1");
          await isBesideWritten.opened;
          await persistence(context).createCheckpoint();
          await effect(context, "line 2", "2");
          fault.strike();
          return role;
        },
        beside: async (role, context) => {
          await effect(context, "beside", "b");
          isBesideWritten.open();
          return role;
        },
      };
      const agent = kind.build(world, lines, { tools: [notebook.write, book], registry })(opened(), {
        participants: [notebook],
      });
      return { agent, outside: persistence(agent).agent("a") };
    };
    await expect(process().agent.run("go")).rejects.toThrow("stopped");
    const { checkpointId = "" } =
      (await process().outside.getCheckpoints()).find(({ trigger }) => trigger === "asked_for") ?? {};
    await expect(process().agent.resume({ checkpointId })).rejects.toThrow("stopped");
    fault.repair();
    const made = (await process().outside.getCheckpoints()).find(
      ({ move, branch, agentPath }) => move === "branch" && branch === undefined && agentPath.length === 0,
    );
    return { world, pages, process, checkpointId: made?.checkpointId ?? "" };
  }

  it("is reached by a rollback that reverts the effects of all lines, which then start again", async () => {
    const { world, pages, process, checkpointId } = await resumed();
    await process().outside.rollbackToCheckpoint(checkpointId);
    // The resume did not continue the effects after its checkpoint.
    expect([pages, world.items]).toEqual([all("", "2", ""), ["line 2"]]);
    expect(await process().agent.resume()).toMatchObject({ output: bothEnded });
    expect([pages, world.items]).toEqual([written, ["beside", "line 1", "line 2", "line 2"]]);
    const [first] = await process().outside.getCheckpoints();
    await process().outside.rollbackToCheckpoint(first?.checkpointId ?? "");
    expect([pages, world.items]).toEqual([blank, []]);
  });

  it("is continued by another resume with all lines, and no call of theirs is repeated", async () => {
    const { world, process, checkpointId } = await resumed();
    const result = await process().agent.resume({ checkpointId });
    expect(result).toMatchObject({ output: bothEnded });
    const remaining = result.status === "completed" ? (result.effects?.remaining ?? []) : [];
    const booked = remaining.filter(({ toolName }) => toolName === "book");
    expect(booked.map(({ input }) => input)).toEqual([{ item: "line 2" }]);
    expect(world.items).toEqual(["beside", "line 1", "line 2", "line 2", "line 2"]);
  });
});

describe.each(logStorages)("$name: a called agent that starts again after a rollback", (storage) => {
  it("has no effects of its first attempt, and receives its event again", async () => {
    const opened = await storage.open();
    const [world, fault, pages] = [new World(), new Fault(), new Map<string, string>()];
    const [isBooked, isSaved] = [gate(), gate()];
    const process = () => {
      const notebook = new NotebookParticipant(pages);
      const book = world.adder("book");
      const registry = new RollbackToolRegistry().registerRollback(book, ({ item }, { toolCallId }) =>
        world.remove(toolCallId, item),
      );
      const work = chain("work", {
        act: async (_text, context) => {
          const event = await context.receive("order", { schema: z.string() });
          await context.tools.call(book, { item: "room" });
          await context.tools.call(notebook.write, { page: "room", text: "booked" });
          isBooked.open();
          await isSaved.opened;
          fault.strike();
          return event ?? "no event";
        },
      });
      const config = { tools: [notebook.write, book] };
      const ask = called("ask", work, { config, persistence: { rollbackToolRegistry: registry } });
      const built = chain("chief", {
        plan: async (_text, context) => {
          const asked = context.tools.call(ask, { topic: "x" });
          asked.catch(() => undefined);
          await isBooked.opened;
          await persistence(context).createCheckpoint();
          isSaved.open();
          return asked;
        },
      });
      const tools = [ask, notebook.write, book];
      const agent = durableAgent(built, opened(), { tools, registry, participants: [notebook] });
      return { agent, outside: persistence(agent).agent("a") };
    };
    await process().outside.send("order", "one");
    await expect(process().agent.run("go")).rejects.toThrow("stopped");
    fault.repair();
    expect([pages.get("room"), world.items]).toEqual(["booked", ["room"]]);
    const { outside } = process();
    const target = (await outside.getCheckpoints()).find(({ trigger }) => trigger === "asked_for");
    await outside.rollbackToCheckpoint(target?.checkpointId ?? "");
    expect([pages.get("room"), world.items]).toEqual(["", []]);
    expect(await process().agent.resume()).toMatchObject({ output: "one" });
    expect([pages.get("room"), world.done]).toEqual(["booked", ["book room", "undo room", "book room"]]);
  });
});
