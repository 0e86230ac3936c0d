import { persistence, type PromptExecutor } from "agent-persistence";
import { attachStream, InMemoryStreamStore, Streams } from "agent-persistence/streams";
import { expect, it, onTestFinished } from "vitest";
import { CountedFiles } from "../persistence/support/CountedFiles.ts";
import { defaultLoop } from "../persistence/support/defaultLoop.ts";
import { durableAgent } from "../persistence/support/durableAgent.ts";
import { forgeConversation } from "../persistence/support/forgedConversation.ts";
import { ClientView } from "./ClientView.ts";

/** An agent with many finished runs, a snapshot, and a run whose response is half written. */
async function halfWritten(runs: number) {
  const files = await CountedFiles.create();
  await forgeConversation(files.open(), runs);
  const gate = { isOpen: true, open: () => {} };
  onTestFinished(() => gate.open());
  const model: PromptExecutor = {
    execute: () => Promise.reject(new Error("only streams")),
    async stream(_request, onDelta) {
      onDelta({ type: "text-delta", text: "Hello " });
      if (!gate.isOpen) await new Promise<void>((resolve) => (gate.open = resolve));
      onDelta({ type: "text-delta", text: "world" });
      return { message: { role: "assistant", content: "Hello world" } };
    },
  };
  const store = new InMemoryStreamStore();
  const open = () => durableAgent(defaultLoop, files.open(), { model }).install(Streams, { store, batchChunks: 1 });
  for (let run = 0; run < 3; run++) await open().run("go", { history: "continue" });
  gate.isOpen = false;
  const follow = () => attachStream({ storage: files.open(), store }, "a", { pollMs: 1 });
  return { files, store, open, gate, follow };
}

const hasChunks = (store: InMemoryStreamStore) => async () => (await store.read("a")).length > 0;

it("a client reads no records of earlier runs", async () => {
  const readAfter = async (runs: number) => {
    const { files, store, open, gate, follow } = await halfWritten(runs);
    const running = open().run("go", { history: "continue" });
    await expect.poll(hasChunks(store)).toBe(true);
    const chunks = follow();
    const { recordsRead } = await files.count(async () => {
      expect(await chunks.next()).toMatchObject({ value: { text: "Hello " } });
    });
    gate.open();
    await running;
    await chunks.return(undefined);
    return recordsRead;
  };
  const [few, many] = [await readAfter(10), await readAfter(3_000)];
  expect(many).toBeLessThan(few + 40);
});

it("a client that names a run reads no records of earlier runs, and sees no finished run", async () => {
  const readAfter = async (runs: number) => {
    const { files, store } = await halfWritten(runs);
    const { recordsRead } = await files.count(async () => {
      for await (const _ of attachStream({ storage: files.open(), store }, "a", { runId: "r-1", pollMs: 1 }))
        expect.unreachable();
    });
    return recordsRead;
  };
  const [few, many] = [await readAfter(10), await readAfter(3_000)];
  expect(many).toBeLessThan(few + 40);
});

it("a client sees no late chunk of a request before the newest snapshot", async () => {
  const { store, open, gate, follow } = await halfWritten(400);
  const running = open().run("go", { history: "continue" });
  await expect.poll(hasChunks(store)).toBe(true);
  const [entry] = await store.read("a");
  const place = { type: "text-delta", text: "late", nodeId: "callModel", at: 0 };
  const late = ["5.0.0", "-3.0.0"].map((requestId) => JSON.stringify({ ...place, requestId }));
  await store.append("a", { writer: entry?.writer ?? 0, first: 2, chunks: late });
  const view = new ClientView();
  for await (const chunk of follow()) {
    view.add(chunk);
    gate.open();
  }
  await running;
  expect([...view.texts.values()]).toEqual(["Hello world"]);
  expect(view.restarts).toBe(0);
});

it("a client reads the whole log if the run repeats a request from before the newest snapshot", async () => {
  const { files, store, open, gate, follow } = await halfWritten(400);
  await persistence(open()).agent().rollbackToCheckpoint("1-5");
  const running = open().resume();
  await expect.poll(hasChunks(store)).toBe(true);
  const view = new ClientView();
  const reading = files.count(async () => {
    for await (const chunk of follow()) view.add(chunk);
  });
  await expect.poll(() => files.counted.recordsRead).toBeGreaterThan(9 * 400);
  gate.open();
  await running;
  await reading;
  expect([...view.texts.values()]).toEqual(["Hello world"]);
});
