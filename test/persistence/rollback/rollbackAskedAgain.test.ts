import type { PersistenceStorageProvider, RollbackReport } from "agent-persistence";
import { crashAfter, SimulatedCrashError } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { bookings, type BookingOptions } from "../support/bookings.ts";
import { Fault } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";
import { World } from "../support/World.ts";

const items = ["a", "b", "c"];

type Built = ReturnType<typeof bookings>;

/** Goes back to the first checkpoint, past what cannot be reverted. */
async function leaveStuck({ outside }: Built): Promise<RollbackReport> {
  const [first] = await outside.getCheckpoints();
  return outside.rollbackToCheckpoint(first?.checkpointId ?? "", { onFailure: "leave" });
}

const itemsOf = (calls: RollbackReport["reverted"]) => calls.map(({ input }) => (input as { item: string }).item);
const told = ({ reverted, failed }: RollbackReport) => ({ reverted: itemsOf(reverted), failed: itemsOf(failed) });

describe.each(logStorages)("$name: a repeated rollback", (storage) => {
  /** Rolled back, without the booking "b". */
  async function rolledBack() {
    const [world, fault, opened] = [new World(), new Fault(), await storage.open()];
    const options: BookingOptions = { stuck: { item: "b", fault } };
    const build = (at: PersistenceStorageProvider = opened()) => bookings(world, at, items, options);
    await build().agent.run("go", { runId: "r" });
    const first = await leaveStuck(build());
    expect(told(first)).toEqual({ reverted: ["c", "a"], failed: ["b"] });
    /** The fault is gone, and the inverse may be tried again. */
    const repair = async () => {
      const [stuck] = (await leaveStuck(build())).failed;
      fault.repair();
      const { toolCallId = "" } = (stuck?.error ?? {}) as { readonly toolCallId?: string };
      await build().outside.settleToolCall(toolCallId, "retry");
    };
    return { world, opened, build, repair };
  }

  it("reports all reverted calls again if a call failed", async () => {
    const { build } = await rolledBack();
    for (let times = 0; times < 2; times++)
      expect(told(await leaveStuck(build()))).toEqual({ reverted: ["c", "a"], failed: ["b"] });
  });

  it("reverts a call that failed before, and reports it from then on", async () => {
    const { world, build, repair } = await rolledBack();
    await repair();
    const second = await leaveStuck(build());
    expect(told(second)).toEqual({ reverted: ["c", "a", "b"], failed: [] });
    expect(await leaveStuck(build())).toEqual(second);
    expect(world.items).toEqual([]);
  });

  // The plan, the begin and the end of the inverse, the end: four saves.
  it.each([0, 1, 2, 3])("reports all reverted calls after a crash, after %i saves", async (saves) => {
    const { build, opened, repair } = await rolledBack();
    await repair();
    await expect(leaveStuck(build(crashAfter(opened(), saves)))).rejects.toBeInstanceOf(SimulatedCrashError);
    const { reverted } = await leaveStuck(build());
    expect(itemsOf(reverted).slice(0, 2)).toEqual(["c", "a"]);
  });

  it("reports only new reverts if the agent ran in between", async () => {
    const { build } = await rolledBack();
    await build().agent.resume();
    expect(told(await leaveStuck(build()))).toEqual({ reverted: ["c", "a"], failed: ["b", "b"] });
  });
});
