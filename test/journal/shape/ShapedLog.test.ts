import { describe, expect, it } from "vitest";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { listShape, readShape } from "../../../src/journal/shape/readShape.ts";
import { ShapedLog } from "../../../src/journal/shape/ShapedLog.ts";
import { TestClock } from "../../storage/file/support/TestClock.ts";
import { logStorages } from "../../persistence/support/storages.ts";
import { type ListRecord, listShapeOf } from "./listOfTexts.ts";

const shape = listShapeOf("thread");
const large = (text: string) => text.repeat(Math.ceil(20_000 / text.length));

type OpenedList = Awaited<ReturnType<typeof openList>>;

const openList = (storage: LogPersistenceStorageProvider, id = "a", of = shape) => ShapedLog.open(of, { storage, id });

function item(log: OpenedList, number: number, value: unknown = `value ${number}`): ListRecord {
  return { kind: "add", number, name: `item ${number}`, value: log.value(value, "an item") };
}

async function entriesOf(storage: LogPersistenceStorageProvider, id = "thread:a") {
  const found = [];
  for await (const entry of storage.log.read(id)) found.push(entry);
  return found;
}

describe.each(logStorages)("a log of a shape other than agent, in the storage $name", ({ open }) => {
  it("restores its state when it is opened again or read by others", async () => {
    const opened = await open();
    const date = new Date(5);
    {
      await using log = await openList(opened());
      expect(log.state.names).toEqual([]);
      log.append([item(log, 0, { date })]);
      log.append([item(log, 1, large("x"))]);
      await log.store([item(log, 2)]);
      await log.store([{ kind: "remove", number: 2 }]);
      expect(log.position).toBe(2);
    }
    await using log = await openList(opened());
    const view = await readShape(shape, { log: opened().log, id: "a" });
    for (const each of [log, view]) {
      expect(each.state.names).toEqual(["item 0", "item 1"]);
      const values = [...each.state.items.values()].map(({ value }) => value);
      expect(await each.read(values)).toEqual([{ date }, large("x")]);
    }
  });

  it("can still be read by earlier readers after it was restated or deleted", async () => {
    const opened = await open();
    await using log = await openList(opened());
    let view = await readShape(shape, { log: opened().log, id: "a" });
    expect(view).toMatchObject({ position: 0, state: { names: [] } });
    const names: string[] = [];
    for (const number of [0, 1, 2]) {
      await log.store([item(log, number)]);
      names.push(`item ${number}`);
      view = await readShape(shape, { log: opened().log, id: "a" }, { known: view });
      expect(view.state.names).toEqual(names);
    }
    await log.store([{ kind: "remove", number: 0 }]);
    await log.prune();
    await log.store([item(log, 3)]);
    view = await readShape(shape, { log: opened().log, id: "a" }, { known: view });
    expect(view.state.names).toEqual(["item 1", "item 2", "item 3"]);
    await log.drop();
    view = await readShape(shape, { log: opened().log, id: "a" }, { known: view });
    expect(view).toMatchObject({ position: 0, state: { names: [] } });
  });

  it("stores an equal large value once, and deletes it when it is unused", async () => {
    const opened = await open();
    await using log = await openList(opened());
    await log.store([item(log, 0, large("x")), item(log, 1, large("x")), item(log, 2, large("y"))]);
    const blobOf = (number: number) => (log.state.items.get(number)?.value as { $blob?: string[] })?.$blob?.[0] ?? "";
    const [x, y] = [blobOf(0), blobOf(2)];
    expect(blobOf(1)).toBe(x);
    await log.store([{ kind: "remove", number: 0 }]);
    await log.store([{ kind: "remove", number: 2 }]);
    expect((await log.prune()).bytes).toBeGreaterThan(19_000);
    expect(await opened().log.blobs.get("thread:a", y)).toBeUndefined();
    expect(await log.read([log.state.items.get(1)?.value])).toEqual([large("x")]);
    // The same content comes again, in the same turn as the next pruning too.
    await log.store([item(log, 3, large("y"))]);
    await log.store([{ kind: "remove", number: 3 }]);
    const pruned = log.prune();
    await log.store([item(log, 4, large("y"))]);
    await pruned;
    log.append([item(log, 5, large("y"))]);
    expect(await log.read([log.state.items.get(4)?.value, log.state.items.get(5)?.value])).toEqual([
      large("y"),
      large("y"),
    ]);
  });

  it("is reduced by pruning to its restated state, whoever owned it", async () => {
    const opened = await open();
    const size = async () => JSON.stringify((await entriesOf(opened())).map(({ records }) => records)).length;
    for (let owner = 0; owner < 3; owner++) {
      await using log = await openList(opened());
      for (let number = 0; number < 20; number++) {
        await log.store([item(log, number, "x".repeat(1_000))]);
        if (number > 1) await log.store([{ kind: "remove", number }]);
      }
    }
    const before = await size();
    await using log = await openList(opened());
    const { bytes } = await log.prune();
    expect(bytes).toBeGreaterThan(before / 2);
    expect(await size()).toBeLessThan(before / 4);
    expect(await opened().log.unremovedBytes?.("thread:a")).toBe(0);
    expect((await readShape(shape, { log: opened().log, id: "a" })).state.names).toEqual(["item 0", "item 1"]);
    expect(await log.prune()).toEqual({ bytes: expect.any(Number) as number });
    await log.store([item(log, 7)]);
    expect((await readShape(shape, { log: opened().log, id: "a" })).state.names).toEqual([
      "item 0",
      "item 1",
      "item 7",
    ]);
  });

  it("is restated after appends that are much larger than its state", async () => {
    const opened = await open();
    const read = async () => {
      let bytes = 0;
      for await (const { records } of opened().log.read("thread:a", { sinceSnapshot: true }))
        bytes += JSON.stringify(records).length;
      return bytes;
    };
    await using log = await openList(opened());
    for (let number = 0; number < 400; number++) {
      log.append([item(log, number, "x".repeat(5_000))], { last: true });
      if (number > 0) log.append([{ kind: "remove", number: number - 1 }]);
      await log.durable();
    }
    await log.durable();
    expect(await read()).toBeLessThan(1_400_000);
    expect((await readShape(shape, { log: opened().log, id: "a" })).state.names).toEqual(["item 399"]);
  });

  it("refuses records that a reader would refuse, without appending", async () => {
    const opened = await open();
    await using log = await openList(opened());
    const wrong = { kind: "add", number: -1, name: "x", value: 1 } as const;
    expect(() => log.append([item(log, 0), wrong])).toThrow(
      expect.objectContaining({ code: "invalid_input", message: expect.stringContaining("number") as string }),
    );
    expect(log.state.names).toEqual([]);
    expect(() => log.value(() => 1, "a function")).toThrow(expect.objectContaining({ code: "not_serializable" }));
  });

  it("is listed among logs of its shape, the last changed first", async () => {
    const opened = await open();
    const clock = new TestClock();
    const storage = opened();
    const begin = async (id: string, of = shape) => {
      await using log = await ShapedLog.open(of, { storage, id, clock });
      await log.store([item(log, 0)]);
      clock.advance(1_000);
    };
    for (const id of ["a", "b", "c"]) await begin(id);
    await begin("a", listShapeOf("session"));
    const list = async (options = {}) => {
      const found = [];
      for await (const each of listShape(shape, opened().log, options)) found.push(each);
      return found;
    };
    expect((await list()).map(({ id }) => id)).toEqual(["c", "b", "a"]);
    const [first] = await list({ limit: 1 });
    expect((await list({ after: first?.order })).map(({ id }) => id)).toEqual(["b", "a"]);
    await using a = await ShapedLog.open(shape, { storage, id: "a", clock });
    await a.store([item(a, 1)]);
    expect((await list()).map(({ id }) => id)).toEqual(["a", "c", "b"]);
    const [{ createdAt, updatedAt } = { createdAt: "", updatedAt: "" }] = await list();
    expect(Date.parse(updatedAt) - Date.parse(createdAt)).toBe(4_000);
    // Within a minute no summary is written, and after it one is.
    clock.advance(59_000);
    await a.store([item(a, 2)]);
    expect((await list())[0]?.updatedAt).toBe(updatedAt);
    clock.advance(1_000);
    await a.store([item(a, 3)]);
    expect(Date.parse((await list())[0]?.updatedAt ?? "")).toBe(Date.parse(updatedAt) + 60_000);
    await a.drop();
    expect((await list()).map(({ id }) => id)).toEqual(["c", "b"]);
  });

  it("cannot be read as a log of another shape or a newer version", async () => {
    const opened = await open();
    {
      await using log = await openList(opened());
      await log.store([item(log, 0)]);
    }
    await expect(openList(opened(), "a", listShapeOf("thread", 0))).rejects.toMatchObject({
      code: "unsupported_format",
    });
    // Nothing but a forged record makes a session of an id of threads.
    const owned = await opened().log.open("session:a", { host: "h", processId: 1, nonce: "n" });
    await owned.append({ id: "x", records: (await entriesOf(opened()))[0]?.records ?? [] }, owned.position);
    await owned.release();
    const refused = { code: "wrong_shape", found: "thread", expected: "session" };
    await expect(openList(opened(), "a", listShapeOf("session"))).rejects.toMatchObject(refused);
    await expect(readShape(listShapeOf("session"), { log: opened().log, id: "a" })).rejects.toMatchObject(refused);
    expect(await opened().log.owner("session:a")).toBeUndefined();
  });
});
