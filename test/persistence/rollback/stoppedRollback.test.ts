import { persistence, type ToolCallInDoubt, type ToolCallSettlement } from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { inspect } from "agent-persistence/inspect";
import { crashAfter, SimulatedCrashError } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { bookings, undoAll, type BookingOptions } from "../support/bookings.ts";
import { Fault, Stopped } from "../support/durableAgent.ts";
import { recordsOf } from "../support/stored.ts";
import { logStorages, storages, type TestStorage } from "../support/storages.ts";
import { collect } from "../../storage/file/support/fixture.ts";
import { World } from "../support/World.ts";
import { WatchedClock } from "../../internal/WatchedClock.ts";

const items = ["a", "b", "c"];

/** Three bookings of a run that ended. */
async function booked(storage: TestStorage, options?: BookingOptions) {
  const world = new World();
  const opened = await storage.open();
  const build = (again?: BookingOptions) => bookings(world, opened(), items, { ...options, ...again });
  await build().agent.run("go", { runId: "r" });
  return { world, opened, build };
}

/** What stands, and which inverses ran. */
const undone = (world: World) => world.done.filter((one) => one.startsWith("undo"));

describe.each(storages)("$name: failing inverses", (storage) => {
  it("are retried according to the policy, then stop the rollback with a report", async () => {
    let tries = 0;
    const fault = new Fault();
    const strike = () => {
      tries++;
      fault.strike();
    };
    const stuck = { item: "b", fault: { strike } };
    const { world, build } = await booked(storage, { stuck, inverseRetry: { attempts: 4, delayMs: 0 } });
    const stopped: unknown = await undoAll(build()).catch((error: unknown) => error);
    expect(stopped).toMatchObject({
      code: "rollback_incomplete",
      agentId: "a",
      reverted: [{ toolName: "book", input: { item: "c" } }],
      failed: [{ toolName: "book", input: { item: "b" }, error: expect.any(Stopped) as Stopped }],
      remaining: [{ toolName: "book", input: { item: "a" } }],
    });
    expect(tries).toBe(4);
    expect(undone(world)).toEqual(["undo c"]);
  });
});

describe.each(logStorages)("$name: a stopped rollback", (storage) => {
  async function stopped(options: BookingOptions = {}) {
    const fault = new Fault();
    const all = await booked(storage, { ...options, stuck: { item: "b", fault } });
    const error: unknown = await undoAll(all.build()).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "rollback_incomplete" });
    const [{ inverseId }] = (error as { readonly failed: readonly [{ readonly inverseId: string }] }).failed;
    return { ...all, fault, inverseId };
  }

  it("is visible in the lists of agents, although the run was finished", async () => {
    const { build, opened, fault } = await stopped();
    const { agent, outside } = build();
    const unfinished = () => collect(persistence(agent).unfinished());
    expect(await unfinished()).toEqual([{ agentId: "a", runId: "r", status: "paused" }]);
    const [listed] = await collect(inspect(opened()).agents());
    const [first] = await outside.getCheckpoints();
    const reason = `the rollback to checkpoint ${first?.checkpointId} is not finished`;
    expect(listed).toMatchObject({ status: "paused", reason });
    fault.repair();
    await undoAll(build());
    const [after] = await collect(inspect(opened()).agents());
    expect(after).toMatchObject({ status: "paused", reason: `rolled back to checkpoint ${first?.checkpointId}` });
  });

  it("continues with the next rollback, whose report covers both", async () => {
    const { world, build, fault } = await stopped();
    fault.repair();
    const report = await undoAll(build());
    expect(report.reverted.map(({ input }) => input)).toEqual([{ item: "c" }, { item: "b" }, { item: "a" }]);
    expect(undone(world)).toEqual(["undo c", "undo b", "undo a"]);
    const moved = await build().outside.getLatestCheckpoint();
    expect(moved?.revertedToolCallIds).toHaveLength(3);
  });

  it("continues to its target if the next rollback goes to the latest checkpoint", async () => {
    const { world, build, fault } = await stopped();
    fault.repair();
    const [first] = await build().outside.getCheckpoints();
    const report = await build().outside.rollbackToLatestCheckpoint();
    expect(report.checkpointId).toBe(first?.checkpointId);
    expect(world.items).toEqual([]);
  });

  it("refuses a target that it can no longer reach", async () => {
    const { build, opened } = await stopped();
    const [first, last] = await build().outside.getCheckpoints();
    const records = (await recordsOf(opened() as LogPersistenceStorageProvider)).length;
    await expect(build().outside.rollbackToCheckpoint(last?.checkpointId ?? "")).rejects.toMatchObject({
      code: "not_an_ancestor",
      available: [first?.checkpointId],
      message: expect.stringMatching(
        new RegExp(
          `cannot be restored while a rollback to "${first?.checkpointId}" is unfinished\\. Repeat that rollback.*` +
            `Until then, a rollback can only go to "${first?.checkpointId}"\\.$`,
        ),
      ),
    });
    expect(await recordsOf(opened() as LogPersistenceStorageProvider)).toHaveLength(records);
  });

  it.each([
    ["run", ({ agent }: ReturnType<typeof bookings>) => agent.run("go", { runId: "r" })],
    ["resume", ({ agent }: ReturnType<typeof bookings>) => agent.resume()],
    [
      "move",
      async ({ agent, outside }: ReturnType<typeof bookings>) => {
        await outside.setExecutionPoint({ nodeId: "all", input: "moved" });
        return agent.resume();
      },
    ],
  ])("prevents the next %s until it has continued", async (_what, go) => {
    const { world, build, fault } = await stopped();
    await expect(go(build())).rejects.toMatchObject({ code: "rollback_incomplete", remaining: [{}] });
    expect(undone(world)).toEqual(["undo c"]);
    fault.repair();
    expect(await go(build())).toMatchObject({ status: "completed" });
    expect(undone(world)).toEqual(["undo c", "undo b", "undo a"]);
    expect(world.items).toEqual(["a", "b", "c"]);
  });

  it.each([
    { settlement: { output: undefined }, failed: [], reverted: ["c", "b", "a"] },
    {
      settlement: { error: "the hotel refuses" },
      failed: [{ input: { item: "b" }, error: { reason: "the hotel refuses" } }],
      reverted: ["c", "a"],
    },
    { settlement: "unknown", failed: [{ input: { item: "b" }, error: { code: "tool_failed" } }], reverted: ["c", "a"] },
  ] as const)("continues past a call resolved as $settlement", async ({ settlement, failed, reverted }) => {
    const { world, build, inverseId } = await stopped();
    await build().outside.settleToolCall(inverseId, settlement);
    const report = await undoAll(build());
    expect(report.failed).toMatchObject(failed);
    expect(report.reverted.map(({ input }) => (input as { item: string }).item)).toEqual(reverted);
    expect(undone(world)).toEqual(["undo c", "undo a"]);
  });

  it("retries a skipped inverse on request", async () => {
    const { world, build, inverseId, fault } = await stopped();
    const { outside } = build();
    await outside.settleToolCall(inverseId, { error: "later" });
    await outside.settleToolCall(inverseId, "retry");
    await expect(outside.settleToolCall("other", "retry")).rejects.toMatchObject({ code: "tool_call_not_in_doubt" });
    fault.repair();
    expect((await undoAll(build())).failed).toEqual([]);
    expect(world.items).toEqual([]);
  });

  it("stops at a call if its inverse is not registered any more", async () => {
    const { world, build } = await booked(storage);
    await expect(undoAll(build({ registered: false }))).rejects.toMatchObject({
      code: "rollback_incomplete",
      reverted: [],
      failed: [{ input: { item: "c" }, error: { code: "inverse_missing", toolName: "book" } }],
      remaining: [{}, {}],
    });
    expect(undone(world)).toEqual([]);
    expect((await undoAll(build())).reverted).toHaveLength(3);
    expect(world.items).toEqual([]);
  });

  it("waits between two attempts by the injected clock", async () => {
    const clock = new WatchedClock();
    const { build, fault } = await stopped();
    const going = undoAll(build({ clock, inverseRetry: { attempts: 2, delayMs: 1_000 } }));
    expect(await Promise.race([clock.timer(), going])).toBe(1_000);
    fault.repair();
    clock.advance(1_000);
    expect((await going).failed).toEqual([]);
  });
});

describe.each(logStorages)("$name: an interrupted rollback that leaves effects", (storage) => {
  // The plan, begin and end of the inverse of c, those of b, the decision about b, begin and end of the inverse of a.
  it.each([1, 2, 3, 4, 5, 6, 7, 8])("leaves them when a resume finishes it, after %i saves", async (saves) => {
    const options: BookingOptions = { stuck: { item: "b", fault: new Fault() }, inverseEffect: "idempotent" };
    const { world, opened, build } = await booked(storage, options);
    const [first] = await build().outside.getCheckpoints();
    const crashing = bookings(world, crashAfter(opened(), saves), items, options).outside;
    const leaving = crashing.rollbackToCheckpoint(first?.checkpointId ?? "", { onFailure: "leave" });
    await expect(leaving).rejects.toBeInstanceOf(SimulatedCrashError);
    expect(await build().agent.resume()).toMatchObject({ status: "completed" });
    expect(world.items).toEqual(["a", "b", "b", "c"]);
  });
});

describe.each(logStorages)("$name: an interrupted inverse", (storage) => {
  /** Its beginning is stored, its end is not. */
  async function cutShort(options?: BookingOptions) {
    const all = await booked(storage, options);
    const crashing = bookings(all.world, crashAfter(all.opened(), 2), items, options);
    await expect(undoAll(crashing)).rejects.toBeInstanceOf(SimulatedCrashError);
    expect(undone(all.world)).toEqual(["undo c"]);
    return all;
  }

  it("is in doubt, stops every rollback, and is not repeated", async () => {
    const { world, build } = await cutShort();
    const { outside } = build();
    const [doubt] = await outside.getToolCallsInDoubt();
    const [, , toolCallId] = world.executed;
    expect(doubt).toMatchObject({
      reverts: toolCallId,
      toolName: "inverse of book",
      effect: "irreversible",
      input: { item: "c" },
    });
    for (let tries = 0; tries < 2; tries++) {
      await expect(undoAll(build())).rejects.toMatchObject({
        code: "rollback_incomplete",
        failed: [
          {
            toolCallId,
            inverseId: doubt?.toolCallId,
            error: {
              code: "tool_call_in_doubt",
              reverts: toolCallId,
              declaration: 'registerRollback(book, …, { effect: "idempotent" })',
            },
          },
        ],
      });
    }
    expect(undone(world)).toEqual(["undo c"]);
  });

  it.each(["run", "resume"] as const)("ends a %s that is aborted while it finishes the rollback", async (verb) => {
    const { world, build } = await cutShort();
    const stop = new AbortController();
    const onToolCallInDoubt = () => {
      stop.abort(new Error("enough"));
      return "retry" as const;
    };
    const { agent } = build({ onToolCallInDoubt });
    const { signal } = stop;
    const ended = verb === "run" ? agent.run("go", { runId: "r", signal }) : agent.resume({ signal });
    await expect(ended).rejects.toThrow("enough");
    expect(undone(world)).toEqual(["undo c"]);
    expect((await undoAll(build({ onToolCallInDoubt: () => "retry" }))).reverted).toHaveLength(3);
  });

  it("runs again if it is declared idempotent", async () => {
    const { world, build } = await cutShort({ inverseEffect: "idempotent" });
    await undoAll(build());
    expect(undone(world)).toEqual(["undo c", "undo c", "undo b", "undo a"]);
  });

  it.each<{ settlement: ToolCallSettlement; runs: number; failed: number }>([
    { settlement: "retry", runs: 4, failed: 0 },
    { settlement: { output: 1 }, runs: 3, failed: 0 },
    { settlement: { error: "did not" }, runs: 3, failed: 1 },
    { settlement: "unknown", runs: 3, failed: 1 },
  ])("is resolved by the handler of calls as $settlement", async ({ settlement, runs, failed }) => {
    const { world, build } = await cutShort();
    const asked: ToolCallInDoubt[] = [];
    const onToolCallInDoubt = (call: ToolCallInDoubt) => {
      asked.push(call);
      return settlement;
    };
    const report = await undoAll(build({ onToolCallInDoubt }));
    expect(asked).toMatchObject([{ reverts: world.executed[2], input: { item: "c" } }]);
    expect(undone(world)).toHaveLength(runs);
    expect([report.failed.length, report.reverted.length]).toEqual([failed, 3 - failed]);
  });
});
