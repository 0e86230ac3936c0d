import { persistence, triggers } from "agent-persistence";
import { SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { type DurableOptions, Fault } from "../support/durableAgent.ts";
import { bothEnded, branchKinds, everyLine, lineKinds } from "../support/lineKinds.ts";
import { logStorages, storages } from "../support/storages.ts";
import { World } from "../support/World.ts";

const seldom = {
  "without automatic checkpoints": () => ({ automatic: false }),
  "with a trigger that is not due": () => ({ triggers: [triggers.interval({ everyMs: 1_000 })] }),
} satisfies Readonly<Record<string, () => DurableOptions>>;

/** Two lines that book, of which the first stops after that; what was done then, and after a resume. */
async function stoppedOnce(
  [, storage, kind]: ReturnType<typeof everyLine<(typeof storages)[number]>>[number],
  options: () => DurableOptions,
) {
  const [world, fault] = [new World(), new Fault()];
  const book = world.adder("book", "idempotent");
  const build = kind.build(
    world,
    {
      line: async (role, { tools }) => {
        await tools.call(book, { item: role });
        fault.strike();
        return role;
      },
      beside: async (role, { tools }) => {
        await tools.call(book, { item: role });
        return role;
      },
    },
    { tools: [book] },
  );
  const opened = await storage.open();
  const agent = () => build(opened(), options());
  await expect(agent().run("go")).rejects.toThrow("stopped");
  const saved = await persistence(agent()).agent("a").getCheckpoints();
  fault.repair();
  expect(await agent().resume()).toMatchObject({ output: bothEnded });
  return { world, saved, count: (node: string) => world.nodes.filter((each) => each === node).length };
}

describe.each(Object.entries(seldom))("%s", (_name, options) => {
  it.each(everyLine(storages, branchKinds))(
    "branches, %s: the fork and the ends are saved, and a branch that has not ended begins again",
    async (...each) => {
      const { world, saved, count } = await stoppedOnce(each, options);
      const [, storage, { branch }] = each;
      expect(saved.map((checkpoint) => [checkpoint.branch, checkpoint.status])).toEqual([
        [undefined, "in_progress"],
        [branch, "in_progress"],
        [branch?.replace("line", "beside"), "in_progress"],
        [branch?.replace("line", "beside"), "completed"],
      ]);
      expect([count("line begins"), count("line acts"), count("beside begins")]).toEqual([2, 2, 1]);
      expect(world.items).toEqual(["beside", "line"]);
      // A log has the call besides.
      expect(world.executed).toHaveLength(storage.name === "three methods" ? 3 : 2);
    },
  );

  it.each(everyLine(logStorages, lineKinds.slice(branchKinds.length)))(
    "agents, %s: each saves what it was built to save",
    async (...each) => {
      const { world, count } = await stoppedOnce(each, options);
      expect([count("line begins"), count("line acts"), count("beside begins")]).toEqual([1, 2, 1]);
      expect(world.executed).toHaveLength(2);
    },
  );
});

it.each(everyLine(logStorages))("an interval that is due within a line, %s: it goes on from there", async (...each) => {
  const [, storage, kind] = each;
  const [world, fault, clock] = [new World(), new Fault(), new SimulatedClock()];
  const book = world.adder("book", "irreversible");
  const build = kind.build(
    world,
    {
      line: async (role, { tools }) => {
        await tools.call(book, { item: `${role} 1` });
        clock.advance(1_001);
        await tools.call(book, { item: `${role} 2` });
        fault.strike();
        return role;
      },
    },
    { tools: [book] },
  );
  const opened = await storage.open();
  const agent = () => build(opened(), { clock, triggers: [triggers.interval({ everyMs: 1_000 })] });
  await expect(agent().run("go")).rejects.toThrow("stopped");
  fault.repair();
  expect(await agent().resume()).toMatchObject({ output: bothEnded });
  expect(world.executed).toHaveLength(2);
  expect(world.items).toEqual(["line 1", "line 2"]);
});
