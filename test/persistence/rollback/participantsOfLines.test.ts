import { persistence, type PersistenceStorageProvider } from "agent-persistence";
import { crashAfter } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { Fault } from "../support/durableAgent.ts";
import { bothEnded, everyLine } from "../support/lineKinds.ts";
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
