import { nextTurn } from "../internal/nextTurn.ts";
import { checkSchema, strictOptions } from "../internal/options/checkSchema.ts";
import { functionSchema, objectWithMethods } from "../internal/options/optionSchemas.ts";
import type { StreamEntry, StreamStore } from "../streams/store/StreamStore.ts";
import { type ConformanceTest, defineConformanceTest, type Expectations } from "./support/Expectations.ts";

/** An empty stream store for {@link streamStoreConformance}. */
export interface StreamStoreHarness {
  readonly store: StreamStore;
  /**
   * Returns a second instance on the same streams, as another process would have it. Omitted for stores of one process.
   */
  readonly beside?: (() => StreamStore | Promise<StreamStore>) | undefined;
}

/** A conformance test of a `StreamStore`. */
export type StreamStoreTest = ConformanceTest<StreamStoreHarness>;

const ids = [..."desk desk/1 desk-1 desk:1 Desk ../desk a\0b ä\u{1F600} %64esk".split(" "), " ", "x".repeat(1_024)];
const hostile = ["", "\n", "\0", '"\\', "\u2028", "ä\u{1F600}", "'; DROP TABLE streams; --", "\ud800"];

/** How long a reader waits for an entry of another process, in turns of the event loop. */
const turns = 5_000;

/**
 * The conformance suite for every `StreamStore`, for any test runner.
 *
 * @example
 * ```ts
 * const make = () => ({ store: new MyStreamStore(url), beside: () => new MyStreamStore(url) });
 * for (const test of streamStoreConformance) it(test.name, () => test.run(make));
 * ```
 */
export const streamStoreConformance: readonly StreamStoreTest[] = [
  streamTest("returns no entries of an unknown stream", async (store, expect) => {
    expect.equal("the entries", await store.read("desk"), []);
    await store.remove("desk");
    await store.remove("desk", { writer: 1, number: 1 });
  }),
  streamTest("returns entries in order and with their chunks", async (store, expect) => {
    const entries = [entry(1, 1, "a", "b"), entry(1, 3, "c"), entry(1, 4, "d", "e", "f")];
    for (const each of entries) await store.append("desk", each);
    expect.equal("the entries", await store.read("desk"), entries);
  }),
  streamTest("orders entries by number, beyond one digit", async (store, expect) => {
    const numbers = Array.from({ length: 120 }, (_, index) => index + 1);
    for (const first of numbers) await store.append("desk", entry(1, first, `chunk ${first}`));
    const found = (await store.read("desk")).map(({ first }) => first);
    expect.equal("the numbers", found, numbers);
  }),
  streamTest("returns the entries with chunks after a given place", async (store, expect) => {
    const entries = [entry(2, 1, "a", "b"), entry(2, 3, "c", "d")];
    for (const each of entries) await store.append("desk", each);
    const read = (number: number) => store.read("desk", { writer: 2, number });
    expect.equal("the entries after 0", await read(0), entries);
    expect.equal("the entries after 1", await read(1), entries);
    expect.equal("the entries after 2", await read(2), entries.slice(1));
    expect.equal("the entries after 3", await read(3), entries.slice(1));
    expect.equal("the entries after 4", await read(4), []);
    expect.equal("the entries after 9", await read(9), []);
  }),
  streamTest("keeps one entry if it is appended twice", async (store, expect) => {
    await store.append("desk", entry(1, 1, "a"));
    await store.append("desk", entry(1, 1, "a"));
    await store.append("desk", entry(1, 2, "b"));
    await store.append("desk", entry(1, 2, "b"));
    expect.equal("the entries", await store.read("desk"), [entry(1, 1, "a"), entry(1, 2, "b")]);
  }),
  streamTest("returns only entries of the newest writer", async (store, expect) => {
    await store.append("desk", entry(1, 1, "a", "b"));
    await store.append("desk", entry(2, 1, "A"));
    await store.append("desk", entry(10, 1, "new"));
    const all = [entry(10, 1, "new")];
    expect.equal("the entries", await store.read("desk"), all);
    expect.equal("the entries after an earlier writer", await store.read("desk", { writer: 2, number: 9 }), all);
    expect.equal("the entries after a later writer", await store.read("desk", { writer: 11, number: 0 }), []);
  }),
  streamTest("ignores late entries of an earlier writer", async (store, expect) => {
    await store.append("desk", entry(5, 1, "old"));
    await store.append("desk", entry(6, 1, "new"));
    await store.append("desk", entry(5, 2, "late"));
    expect.equal("the entries", await store.read("desk"), [entry(6, 1, "new")]);
    await store.append("desk", entry(6, 2, "next"));
    expect.equal("the entries", await store.read("desk"), [entry(6, 1, "new"), entry(6, 2, "next")]);
  }),
  streamTest("removes the entries up to a given place and those of earlier writers", async (store, expect) => {
    await store.append("desk", entry(1, 1, "old"));
    await store.append("desk", entry(2, 1, "a", "b"));
    await store.append("desk", entry(2, 3, "c", "d"));
    await store.append("desk", entry(2, 5, "e"));
    await store.remove("desk", { writer: 2, number: 3 });
    expect.equal("the entries", await store.read("desk"), [entry(2, 3, "c", "d"), entry(2, 5, "e")]);
    await store.remove("desk", { writer: 2, number: 4 });
    expect.equal("the entries", await store.read("desk"), [entry(2, 5, "e")]);
    await store.remove("desk", { writer: 1, number: 9 });
    expect.equal("the entries", await store.read("desk"), [entry(2, 5, "e")]);
    await store.remove("desk", { writer: 3, number: 0 });
    expect.equal("the entries", await store.read("desk"), []);
    await store.append("desk", entry(3, 1, "A"));
    expect.equal("the entries", await store.read("desk"), [entry(3, 1, "A")]);
  }),
  streamTest("continues a stream whose entries were removed", async (store, expect) => {
    await store.append("desk", entry(2, 1, "a", "b"));
    await store.remove("desk", { writer: 2, number: 2 });
    await store.append("desk", entry(2, 3, "c"));
    expect.equal("the entries", await store.read("desk", { writer: 2, number: 1 }), [entry(2, 3, "c")]);
  }),
  streamTest("starts a removed stream again", async (store, expect) => {
    await store.append("desk", entry(4, 1, "a"));
    await store.remove("desk");
    await store.remove("desk");
    expect.equal("the entries", await store.read("desk"), []);
    await store.append("desk", entry(4, 1, "b"));
    expect.equal("the entries", await store.read("desk"), [entry(4, 1, "b")]);
  }),
  streamTest("separates streams with similar ids", async (store, expect) => {
    for (const id of ids) await store.append(id, entry(1, 1, id));
    for (const id of ids)
      expect.equal(`the entries of ${JSON.stringify(id.slice(0, 20))}`, await store.read(id), [entry(1, 1, id)]);
    await store.remove("desk");
    for (const id of ids.slice(1))
      expect.equal(`the entries of ${JSON.stringify(id.slice(0, 20))}`, await store.read(id), [entry(1, 1, id)]);
  }),
  streamTest("keeps every text unchanged", async (store, expect) => {
    const large = "ä".repeat(300_000);
    await store.append("desk", entry(1, 1, ...hostile, large));
    expect.equal("the entries", await store.read("desk"), [entry(1, 1, ...hostile, large)]);
  }),
  streamTest("keeps the largest generation", async (store, expect) => {
    const writer = 999_999_999_999_999;
    await store.append("desk", entry(9, 1, "old"));
    await store.append("desk", entry(writer, 1, "new"));
    expect.equal("the entries", await store.read("desk"), [entry(writer, 1, "new")]);
  }),
  streamTest("copies the chunks of an entry", async (store, expect) => {
    const chunks = ["a"];
    const stored = store.append("desk", { writer: 1, first: 1, chunks });
    chunks.push("b");
    await stored;
    expect.equal("the number of entries", (await store.read("desk")).length, 1);
    expect.equal("the first chunk", (await store.read("desk"))[0]?.chunks[0], "a");
  }),
  streamTest("keeps all entries of concurrent appends to many streams", async (store, expect) => {
    const names = Array.from({ length: 10 }, (_, index) => `stream ${index}`);
    await Promise.all(
      names.map(async (name) => {
        for (let first = 1; first <= 5; first++) await store.append(name, entry(1, first, `${name} ${first}`));
      }),
    );
    for (const name of names) expect.equal(`the entries of ${name}`, (await store.read(name)).length, 5);
  }),
  defineConformanceTest(
    "shows entries and removals to another process",
    (made: StreamStoreHarness, leftOut) => ({ made: checkedHarness(made), leftOut }),
    async ({ made: { store, beside }, leftOut }, expect) => {
      if (!beside) return leftOut.end("beside", { leftOut: "the harness has none" });
      const other = await beside();
      await store.append("desk", entry(1, 1, "a"));
      expect.equal("the entries", await other.read("desk"), [entry(1, 1, "a")]);
      await other.append("desk", entry(2, 1, "b"));
      await store.append("desk", entry(1, 2, "late"));
      expect.equal("the entries", await store.read("desk"), [entry(2, 1, "b")]);
      expect.equal("the entries", await other.read("desk"), [entry(2, 1, "b")]);
      await store.remove("desk");
      expect.equal("the entries", await other.read("desk"), []);
    },
  ),
  streamTest("reports changes to each watcher until it is closed", async (store, expect) => {
    let [calls, entries] = [0, 0];
    const end = store.watch?.("desk", () => calls++);
    if (!end) return;
    const append = () => store.append("desk", entry(1, ++entries, "a"));
    await untilCalled(() => calls > 0, append);
    expect.isTrue("the number of calls", calls > 0, "at least 1", calls);
    end();
    end();
    await nextTurn();
    const before = calls;
    await append();
    expect.equal("the number of calls after the end", calls, before);
  }),
];

function entry(writer: number, first: number, ...chunks: readonly string[]): StreamEntry {
  return { writer, first, chunks };
}

function streamTest(name: string, body: (store: StreamStore, expect: Expectations) => Promise<void>): StreamStoreTest {
  return defineConformanceTest(name, (made: StreamStoreHarness) => checkedHarness(made).store, body);
}

const harnessSchema = strictOptions(() => ({
  store: objectWithMethods<StreamStore>("append", "read", "remove"),
  beside: functionSchema().optional(),
}));

/** @throws InvalidInputError */
function checkedHarness(made: StreamStoreHarness): StreamStoreHarness {
  checkSchema(harnessSchema, made, "harness of a stream store");
  return made;
}

/** A store may start to listen some time after the call, so the change is repeated. */
async function untilCalled(isCalled: () => boolean, change: () => Promise<void>): Promise<void> {
  for (let turn = 0; turn < turns && !isCalled(); turn++) {
    if (turn % 100 === 0) await change();
    await nextTurn();
  }
}
