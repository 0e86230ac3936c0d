import type { AgentInputItem } from "@openai/agents-core";
import { expect, test } from "vitest";
import { InMemoryPersistenceStorageProvider } from "../../../src/index.ts";
import type { Entry } from "../../../src/storage.ts";
import { itemsOfRange } from "../../../src/integrations/openai-agents/session/NumberRange.ts";
import { SessionState, type SessionRecord } from "../../../src/integrations/openai-agents/session/SessionState.ts";
import { SessionStore } from "../../../src/integrations/openai-agents/session/SessionStore.ts";

const says = (content: string): AgentInputItem => ({ role: "user", content });

test("a run that replaces the items of a large session can be resumed and rolled back", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  const all = Array.from({ length: 200 }, (_, number) => says(`${number} ${"x".repeat(8_000)}`));
  const first = new SessionStore(storage, "s");
  for (let at = 0; at < all.length; at += 20) await first.change({ type: "add", items: all.slice(at, at + 20) });
  await first.close();

  const store = new SessionStore(storage, "s");
  const { numbers } = await store.numberedItems("run");
  await store.changeOnce({ type: "replace", items: [says("summary")] }, { run: "run", before: 0 });
  await store.changeOnce({ type: "add", items: [says("more")] }, { run: "run", before: 1 });
  await store.changeOnce({ type: "replace", items: [says("shorter")] }, { run: "run", before: 2 });
  await store.close();
  for (const each of [store, new SessionStore(storage, "s")]) {
    expect(await each.items()).toEqual([says("shorter")]);
    expect(await each.itemsOf(numbers)).toEqual(all);
  }
  await store.takeBack("run");
  expect(await store.items()).toEqual(all);
  await store.close();
});

test.each(["replace", "clear"] as const)("a session does not grow with runs whose items a %s removes", async (type) => {
  const storage = new InMemoryPersistenceStorageProvider();
  const store = new SessionStore(storage, "s");
  const sizes: number[] = [];
  for (let number = 0; number < 150; number++) {
    const run = `run ${number}`;
    const callId = `call ${number}`;
    const items: AgentInputItem[] = [
      says("a"),
      { type: "function_call", callId, name: "f", arguments: "{}" },
      says("b"),
    ];
    await store.changeOnce({ type: "add", items }, { run, before: 0, callIds: [[callId, "provided"]] });
    if (type === "clear") await store.change({ type });
    else await store.changeOnce({ type, items: [says("summary")] }, { run, before: items.length });
    await store.prune();
    const { records } = await lastRestated(storage);
    sizes.push(JSON.stringify(records).length);
  }
  expect(sizes.at(-1)).toBeLessThan(1.1 * sizes[110]!);
  expect((await store.callIds()).length).toBeLessThan(2);
  await store.changeOnce({ type: "add", items: [says("again")] }, { run: "run 120", before: 0 });
  expect(await store.items()).toEqual(type === "clear" ? [] : [says("summary")]);
  await store.close();
});

test("a call id stays as long as a resumed run can restore its call", async () => {
  const store = new SessionStore(new InMemoryPersistenceStorageProvider(), "s");
  const call: AgentInputItem = { type: "function_call", callId: "own", name: "f", arguments: "{}" };
  await store.changeOnce({ type: "add", items: [call] }, { run: "a", before: 0, callIds: [["own", "provided"]] });
  await store.changeOnce({ type: "replace", items: [says("summary")] }, { run: "b", before: 0 });
  expect(await store.callIds()).toEqual([["own", "provided"]]);
  await store.changeOnce({ type: "replace", items: [says("shorter")] }, { run: "c", before: 0 });
  await store.prune();
  expect(await store.callIds()).toEqual([]);
  await store.close();
});

test("a run that replaced an empty session is taken back in the same way after a snapshot", () => {
  const state = new SessionState();
  const take = (records: Iterable<SessionRecord>, to: SessionState) => {
    for (const record of records) to.add(structuredClone(record));
    return to;
  };
  take(
    [
      { kind: "splice", at: 0, items: ["a", "b"] },
      { kind: "progress", run: "r", done: 1, added: [[0, 1]], dropped: [] },
      { kind: "splice", at: 0, drop: 2, items: ["c"] },
      { kind: "progress", run: "r", done: 2, added: [[2, 2]], dropped: [[0, 1]] },
    ],
    state,
  );
  for (const each of [take(state.restate(), new SessionState()), state]) {
    take(each.progressOf("r").undone(each.items, 0), each);
    expect(each.items).toEqual([]);
  }
});

test("a huge range of item numbers, which a damaged log may have, costs nothing", () => {
  const state = new SessionState();
  state.add({ kind: "splice", at: 0, items: ["a", "b", "c"] });
  const huge = [1, 4_000_000_000] as const;
  state.add({ kind: "progress", run: "r", done: huge[1], added: [huge] });
  expect(itemsOfRange(state.known, huge)).toHaveLength(2);
  expect([...state.restate()]).toContainEqual({ kind: "progress", run: "r", done: huge[1], added: [huge] });
  for (const record of state.progressOf("r").undone(state.items, 0)) state.add(record);
  expect(state.items.map(({ value }) => value)).toEqual(["a"]);
});

async function lastRestated({ log }: InMemoryPersistenceStorageProvider) {
  let last: Entry | undefined;
  for await (const entry of log.read("session:s", { sinceSnapshot: true })) last ??= entry;
  return last!;
}
