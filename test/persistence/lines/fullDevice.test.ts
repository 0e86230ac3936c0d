import { persistence } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { SimulatedFileSystem } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { changingFiles } from "../../powerloss/delegating.ts";
import { TestMachine } from "../../storage/file/support/fixture.ts";
import { gate } from "../../agent/gate.ts";
import { bothEnded, lineKinds } from "../support/lineKinds.ts";
import { World } from "../support/World.ts";

/** A device whose writes fail while it is full. */
function device() {
  const state = { isFull: false, refused: 0, onRefusal: (): void => undefined };
  const fileSystem = changingFiles(new SimulatedFileSystem(), (file) => ({
    write: async (bytes) => {
      if (!state.isFull) return file.write(bytes);
      state.refused++;
      state.onRefusal();
      throw Object.assign(new Error("no room"), { code: "ENOSPC" });
    },
  }));
  const machine = new TestMachine();
  const open = () =>
    new FilePersistenceStorageProvider({ directory: "/data", fileSystem, processIdentity: machine.start() });
  return { state, open };
}

const full = { code: "storage_failed", reason: "full" };

describe.each(lineKinds.map((kind) => [kind.name, kind] as const))("on a full device, %s", (_name, kind) => {
  it.each(["calls", "ends"])(
    "a line that %s fails the run without further effects, and continues once space is free",
    async (what) => {
      const { state, open } = device();
      const world = new World();
      const book = world.adder("book", "irreversible");
      const [begun, failed] = [gate(), gate()];
      const build = kind.build(
        world,
        {
          line: async (role, { tools }) => {
            await begun.opened;
            if (what === "calls") await tools.call(book, { item: role }).finally(() => failed.open());
            return role;
          },
          beside: async (role, context) => {
            await context.tools.call(book, { item: "first" });
            await persistence(context).durable();
            state.isFull = state.refused === 0;
            begun.open();
            await failed.opened;
            await context.tools.call(book, { item: "second" });
            return role;
          },
        },
        { tools: [book] },
      );
      state.onRefusal = failed.open;
      await expect(build(open()).run("go", { runId: "r" })).rejects.toMatchObject(full);
      expect(world.items).toEqual(["first"]);
      const nodes = world.nodes.length;
      await expect(build(open()).resume()).rejects.toMatchObject(full);
      expect(world.nodes).toHaveLength(nodes);
      state.isFull = false;
      expect(await persistence(build(open())).agent("a").validateCheckpoint()).toMatchObject({ valid: true });
      expect(await build(open()).resume()).toMatchObject({ output: bothEnded });
      expect(world.done.toSorted()).toEqual(["book first", ...(what === "calls" ? ["book line"] : []), "book second"]);
      expect(world.nodes.filter((node) => node.endsWith("begins"))).toHaveLength(2);
    },
  );
});
