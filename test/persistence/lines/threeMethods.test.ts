import { persistence, RollbackToolRegistry } from "agent-persistence";
import { crashAfter } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Fault } from "../support/durableAgent.ts";
import { bothEnded, branchKinds, everyLine, lineKinds } from "../support/lineKinds.ts";
import { storages } from "../support/storages.ts";
import { World } from "../support/World.ts";

const threeMethods = storages.filter(({ name }) => name === "three methods");
const agentKinds = lineKinds.filter(({ agentPath }) => agentPath.length > 0);

describe.each(everyLine(threeMethods))("lines on %s", (_name, storage, kind) => {
  const booking = (world: World, fault?: Fault) => {
    const book = world.adder("book", "idempotent");
    return kind.build(
      world,
      {
        line: async (role, { tools }) => {
          await tools.call(book, { item: role });
          fault?.strike();
          return role;
        },
        beside: async (role, { tools }) => {
          await tools.call(book, { item: role });
          return role;
        },
      },
      { tools: [book], registry: new RollbackToolRegistry() },
    );
  };

  it("end the same after a crash at any save, and repeated calls keep their ids", async () => {
    for (let saves = 0, isOver = false; !isOver; saves++) {
      const world = new World();
      const build = booking(world);
      const opened = await storage.open();
      isOver = await build(crashAfter(opened(), saves))
        .run("go", { runId: "r" })
        .then(
          () => true,
          () => false,
        );
      const result = await build(opened()).run("go", { runId: "r" });
      expect(result, `after ${saves}`).toMatchObject({ status: "completed", output: bothEnded });
      expect(world.items, `after ${saves}`).toEqual(["beside", "line"]);
    }
  });

  it("continue from the line that failed", async () => {
    const [world, fault] = [new World(), new Fault()];
    const build = booking(world, fault);
    const opened = await storage.open();
    await expect(build(opened()).run("go")).rejects.toThrow("stopped");
    fault.repair();
    expect(await build(opened()).resume()).toMatchObject({ status: "completed", output: bothEnded });
    expect(world.items).toEqual(["beside", "line"]);
    const latest = await persistence(build(opened())).agent("a").getLatestCheckpoint();
    expect(latest).toMatchObject({ nodeId: "finish", status: "completed", lastInput: bothEnded });
  });

  it("cannot request input", async () => {
    const world = new World();
    const build = kind.build(world, {
      line: (role, context) => context.requestInput({ prompt: `${role}?`, schema: z.string() }),
    });
    const opened = await storage.open();
    const refused = { code: "waiting_not_supported" };
    const expected = kind.agentPath.length > 0 ? { code: "tool_failed", cause: refused } : refused;
    await expect(build(opened()).run("go")).rejects.toMatchObject(expected);
    expect(await persistence(build(opened())).agent("a").getRequests()).toEqual([]);
  });
});

it.each(everyLine(threeMethods, branchKinds))("%s: a finished line does not run again", async (_, storage, kind) => {
  const [world, fault] = [new World(), new Fault()];
  const build = kind.build(world, { line: (role) => (fault.strike(), role) });
  const opened = await storage.open();
  await fault.stops(build(opened()).run("go"));
  const latest = await persistence(build(opened())).agent("a").getLatestCheckpoint();
  expect(latest?.branches).toMatchObject([
    { path: kind.branch, status: "in_progress" },
    { status: "completed", output: "beside" },
  ]);
  expect(await build(opened()).resume()).toMatchObject({ output: bothEnded });
  expect(world.nodes.toSorted()).toEqual(["beside acts", "beside begins", "line acts", "line acts", "line begins"]);
});

it.each(everyLine(threeMethods, agentKinds))(
  "%s: agents start again with the node that called them",
  async (_, storage, kind) => {
    const [world, fault] = [new World(), new Fault()];
    const build = kind.build(world, { line: (role) => (fault.strike(), role) });
    const opened = await storage.open();
    await expect(build(opened()).run("go")).rejects.toThrow("stopped");
    fault.repair();
    expect(await build(opened()).resume()).toMatchObject({ output: bothEnded });
    const once = ["beside acts", "beside begins", "line acts", "line begins"];
    expect(world.nodes.toSorted()).toEqual([...once, ...once].sort());
    // Nothing of an agent is kept, so none of its checkpoints is shown.
    const checkpoints = await persistence(build(opened())).agent("a").getCheckpoints();
    expect(checkpoints.filter(({ agentPath }) => agentPath !== undefined && agentPath.length > 0)).toEqual([]);
  },
);
