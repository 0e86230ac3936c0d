import { type MigratedLine, persistence, type PersistenceEvent } from "agent-persistence";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { recordsOf } from "../support/stored.ts";
import { logStorages } from "../support/storages.ts";
import { renamedNode } from "./support/changes.ts";
import { base, type PlaceOptions, places, type Spec, type Stop } from "./support/Spec.ts";

const after: Spec = { ...renamedNode("two", "second"), version: 1 };

function noWay(): MigratedLine {
  throw new Error("no way");
}

describe.each(logStorages)("$name:", (storage) => {
  describe.each(places)("in $name, changed code continues", (place) => {
    const rename = { from: 0, to: 1, nodes: { [place.path("two")]: place.path("second") } };
    const wrong = { migrations: [{ ...rename, migrate: noWay }] };
    const right = { migrations: [rename] };
    async function stopped(at: string, spec = base) {
      const opened = await storage.open();
      const stop: Stop = { at };
      const agent = (given: Spec, options?: PlaceOptions) => place.agent(given, stop, opened(), options);
      await expect(agent(spec).run("in")).rejects.toThrow("stopped");
      stop.at = undefined;
      const idAt = async (node: string) => {
        const checkpoints = await persistence(agent(spec)).agent("a").getCheckpoints();
        return checkpoints.find(({ nodeId }) => nodeId === place.path(node))?.checkpointId ?? "";
      };
      return { agent, opened, idAt };
    }

    it("a branch from a checkpoint with its migration, and changes nothing if the migration throws", async () => {
      const { agent, opened, idAt } = await stopped("three");
      const checkpointId = await idAt("two");
      const before = await recordsOf(opened(), "a");
      await expect(agent(after, wrong).resume({ agentId: "a", checkpointId })).rejects.toThrow("no way");
      await expect(agent(after).resume({ agentId: "a", checkpointId })).rejects.toMatchObject({
        code: "strategy_changed",
      });
      expect(await recordsOf(opened(), "a")).toEqual(before);
      expect(await agent(after, right).resume({ agentId: "a", checkpointId })).toMatchObject({ output: "iinit" });
    });

    it("a branch from a checkpoint with one event for the branch", async () => {
      const { agent, idAt } = await stopped("three");
      const checkpointId = await idAt("two");
      const told: string[] = [];
      const onEvent = (event: PersistenceEvent) =>
        void (event.type === "checkpoint_restored" && told.push(`${event.by} ${event.checkpointId}`));
      await agent(after, { ...right, onEvent }).resume({ agentId: "a", checkpointId });
      expect(told).toEqual([expect.stringMatching(/^branch /)]);
      await agent(after, { ...right, onEvent }).resume({ agentId: "a" });
      expect(told).toHaveLength(1);
    });

    it("no branch from a checkpoint before a parallel node whose branches have changed since", async () => {
      const schema = (input: z.ZodType<string>): Spec => ({
        ...base,
        nodes: base.nodes.map((node) => (node.name === "x" ? { ...node, input } : node)),
      });
      const before = schema(z.string());
      const { agent, opened, idAt } = await stopped("three", before);
      const stored = await recordsOf(opened(), "a");
      await expect(
        agent(schema(z.string().max(99))).resume({ agentId: "a", checkpointId: await idAt("fan") }),
      ).rejects.toMatchObject({ code: "strategy_changed" });
      expect(await recordsOf(opened(), "a")).toEqual(stored);
      // After a rollback, too: its branches begin anew.
      await persistence(agent(before))
        .agent("a")
        .rollbackToCheckpoint(await idAt("fan"));
      const changed = agent(schema(z.string().max(99)));
      await expect(changed.resume({ agentId: "a" })).rejects.toMatchObject({ code: "strategy_changed" });
    });

    it("a fork with its migration, and changes nothing if the migration throws", async () => {
      const { agent, opened, idAt } = await stopped("three");
      const whole = (await agent(base).resume()) as { readonly output?: string };
      const outside = persistence(agent(after, wrong)).agent("a");
      await outside.fork("b", { checkpointId: await idAt("two") });
      const [original, fork] = [await recordsOf(opened(), "a"), await recordsOf(opened(), "b")];
      await expect(agent(after, wrong).resume({ agentId: "b" })).rejects.toThrow("no way");
      await expect(agent(after).resume({ agentId: "b" })).rejects.toMatchObject({ code: "strategy_changed" });
      expect(await recordsOf(opened(), "b")).toEqual(fork);
      expect(await agent(after, right).resume({ agentId: "b" })).toMatchObject({ status: "completed" });
      expect(await recordsOf(opened(), "a")).toEqual(original);
      expect(whole).toMatchObject({ status: "completed" });
    });

    it("an edit without a migration, and records the code that made the edit", async () => {
      const { agent, opened, idAt } = await stopped("three");
      const checkpointId = await idAt("two");
      const outside = persistence(agent(after, wrong)).agent("a");
      const before = await recordsOf(opened(), "a");
      const edit = { by: "ann", reason: "why", lastInput: "in" };
      await expect(outside.editCheckpoint(checkpointId, edit)).rejects.toMatchObject({ code: "unknown_node" });
      expect(await recordsOf(opened(), "a")).toEqual(before);
      await outside.editCheckpoint(checkpointId, { ...edit, nodeId: place.path("second") });
      const stored = await recordsOf(opened(), "a");
      // The lines around it are as they were.
      if (place.name === "a branch") {
        await expect(agent(after, wrong).resume({ agentId: "a" })).rejects.toThrow("no way");
        expect(await recordsOf(opened(), "a")).toEqual(stored);
      }
      expect(await agent(after, right).resume({ agentId: "a" })).toMatchObject({ status: "completed" });
    });
  });
});
