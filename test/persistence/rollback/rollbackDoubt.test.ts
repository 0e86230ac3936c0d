import type { ToolCallSettlement, ToolProbeAnswer } from "agent-persistence";
import { crashAfter } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { bookings, undoAll, type BookingOptions } from "../support/bookings.ts";
import { recordsOf } from "../support/stored.ts";
import { logStorages, type TestStorage } from "../support/storages.ts";
import { World } from "../support/World.ts";

type Storage = TestStorage<(typeof logStorages)[number] extends TestStorage<infer Provider> ? Provider : never>;

/** The second of two bookings is made, and the process ends before that is recorded. */
async function inDoubt(storage: Storage, options?: BookingOptions) {
  const world = new World();
  const opened = await storage.open();
  const items = ["a", "b"];
  // The beginning, the intent of the first, its end with the intent of the second.
  await bookings(world, crashAfter(opened(), 3), items, options)
    .agent.run("go")
    .catch(() => undefined);
  expect(world.done).toEqual(["book a", "book b"]);
  return {
    world,
    opened,
    build: (again?: BookingOptions) => bookings(world, opened(), items, { ...options, ...again }),
  };
}

const both = ["undo b", "undo a"];

describe.each(logStorages)("$name: a rollback over a call in doubt", (storage) => {
  it("is refused without changes if the outcome is unknown", async () => {
    const { world, opened, build } = await inDoubt(storage);
    const records = (await recordsOf(opened())).length;
    await expect(undoAll(build())).rejects.toMatchObject({
      code: "tool_call_in_doubt",
      toolName: "book",
      toolCallId: world.executed[1],
    });
    expect(world.done).toHaveLength(2);
    expect(await recordsOf(opened())).toHaveLength(records);
    // It can still be resumed where it was.
    expect(await build({ onToolCallInDoubt: "retry" }).agent.resume()).toMatchObject({ status: "completed" });
  });

  it.each<{ settlement: ToolCallSettlement; done: readonly string[]; failed: number }>([
    { settlement: { output: { made: "b" } }, done: both, failed: 0 },
    { settlement: { error: "it was refused" }, done: ["undo a"], failed: 0 },
    { settlement: "unknown", done: ["undo a"], failed: 1 },
    // Made again under its id, so that there is surely something to revert.
    { settlement: "retry", done: ["book b", ...both], failed: 0 },
  ])("follows the handler's decision: $settlement", async ({ settlement, done, failed }) => {
    const { world, build } = await inDoubt(storage);
    const report = await undoAll(build({ onToolCallInDoubt: () => settlement }));
    expect(world.done.slice(2)).toEqual(done);
    expect(report.failed).toHaveLength(failed);
    expect(new Set(world.executed).size).toBe(2);
  });

  it.each<{ settlement: ToolCallSettlement; done: readonly string[] }>([
    { settlement: { output: { made: "b" } }, done: both },
    { settlement: { error: "it was refused" }, done: ["undo a"] },
    { settlement: "unknown", done: ["undo a"] },
    { settlement: "retry", done: ["book b", ...both] },
  ])("follows the outcome given from outside: $settlement", async ({ settlement, done }) => {
    const { world, build } = await inDoubt(storage);
    const { outside } = build();
    await outside.settleToolCall(world.executed[1] ?? "", settlement);
    await undoAll(build());
    expect(world.done.slice(2)).toEqual(done);
  });

  it.each<{ answer: ToolProbeAnswer<{ made: string }>; done: readonly string[] }>([
    { answer: "done", done: both },
    { answer: { status: "done", output: { made: "b" } }, done: both },
    { answer: "not-done", done: ["undo a"] },
  ])("queries the tool's probe first: $answer", async ({ answer, done }) => {
    const { world, build } = await inDoubt(storage);
    const report = await undoAll(build({ probe: () => answer }));
    expect(world.done.slice(2)).toEqual(done);
    expect(report.failed).toEqual([]);
  });

  it("repeats an idempotent call and reverts it", async () => {
    const { world, build } = await inDoubt(storage, { effect: "idempotent" });
    const report = await undoAll(build());
    expect(world.done.slice(2)).toEqual(["book b", ...both]);
    expect(report.reverted).toMatchObject([{ input: { item: "b" }, output: { made: "b" } }, { input: { item: "a" } }]);
  });

  it("lists an idempotent call without an inverse, and does not repeat it", async () => {
    const { world, build } = await inDoubt(storage, { effect: "idempotent", registered: false });
    const report = await undoAll(build());
    expect(world.done).toHaveLength(2);
    expect(report.failed).toMatchObject([{ input: { item: "b" }, error: { code: "tool_call_in_doubt" } }]);
    expect(report.irreversible).toMatchObject([{ input: { item: "a" } }]);
  });

  it("lists a call resolved as unknown each time until its outcome is known", async () => {
    const { world, build } = await inDoubt(storage, { onToolCallInDoubt: () => "unknown" });
    for (let tries = 0; tries < 2; tries++) {
      const report = await undoAll(build());
      expect(report.failed).toMatchObject([{ toolCallId: world.executed[1], error: { code: "tool_call_in_doubt" } }]);
    }
    await build().outside.settleToolCall(world.executed[1] ?? "", { output: { made: "b" } });
    const { failed, reverted } = await undoAll(build());
    expect(failed).toEqual([]);
    expect(reverted.map(({ toolCallId }) => toolCallId)).toEqual(world.executed.slice(0, 2));
    expect(world.items).toEqual([]);
  });

  it.each(Array.from({ length: 8 }, (_, saves) => saves))(
    "is finished after a crash, after %i saves",
    async (saves) => {
      const { world, opened, build } = await inDoubt(storage, { effect: "idempotent", inverseEffect: "idempotent" });
      const options = { effect: "idempotent", inverseEffect: "idempotent" } as const;
      await undoAll(bookings(world, crashAfter(opened(), saves), ["a", "b"], options)).catch(() => undefined);
      await undoAll(build());
      expect(world.items).toEqual([]);
      expect(new Set(world.executed).size).toBe(2);
    },
  );
});
