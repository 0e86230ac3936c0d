import { tool, type ToolRunnableConfig } from "@langchain/core/tools";
import { Annotation, Command, interrupt, Send, START, StateGraph } from "@langchain/langgraph";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { durableTools, PersistenceSaver } from "agent-persistence/langgraph";
import { readFile, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { Telemetry } from "../../../../src/telemetry/Telemetry.ts";
import type {
  TelemetryFacts,
  TelemetryOperation,
  TelemetrySpan,
} from "../../../../src/telemetry/TelemetryOperation.ts";
import { temporaryDirectory } from "../../../kill/temporaryDirectory.ts";
import { Bank, calling, graphOf, thread } from "./bank.ts";

const saver = () => new PersistenceSaver({ storage: new InMemoryPersistenceStorageProvider() });

/** A graph that charges, then asks, then charges again, in one node. */
function askingGraph(bank: Bank, checkpointer: PersistenceSaver) {
  const [charge] = durableTools(checkpointer, [bank.charge], { charge: { effect: "idempotent" } });
  return graphOf(checkpointer, async () => {
    const charged = await charge.invoke({ cents: 900 });
    return `${charged}, ${interrupt<string, string>("ok?")}, ${await charge.invoke({ cents: 100 })}`;
  });
}

test("a run from an older checkpoint repeats its calls with new keys", async () => {
  const bank = new Bank();
  const checkpointer = saver();
  const [charge] = durableTools(checkpointer, [bank.charge]);
  const graph = graphOf(checkpointer, async () => String(await charge.invoke({ cents: 900 })));
  await graph.invoke({ said: "" }, thread);
  const states = [];
  for await (const state of graph.getStateHistory(thread)) states.push(state);
  const before = states.find(({ next }) => next[0] === "work");
  await graph.invoke(null, { ...thread, ...before?.config });
  expect(bank.charged).toEqual(["900", "900"]);
  expect(new Set(bank.keys).size).toBe(2);
});

test("a copy of a thread keeps the calls of its current node and uses new keys for later ones", async () => {
  const bank = new Bank();
  const checkpointer = saver();
  const graph = askingGraph(bank, checkpointer);
  await graph.invoke({ said: "" }, thread);
  const copied = await checkpointer.copyThread("order-7", "copy");
  const said = { said: "charged 900, yes, charged 100" };
  expect(await graph.invoke(new Command({ resume: "yes" }), { ...thread, ...copied })).toMatchObject(said);
  expect(await graph.invoke(new Command({ resume: "yes" }), thread)).toMatchObject(said);
  expect(bank.charged).toEqual(["900", "100", "100"]);
  expect(new Set(bank.keys).size).toBe(3);
});

test("a copy has inputs and outputs of any size, including blobs", async () => {
  const directory = await temporaryDirectory();
  const checkpointer = new PersistenceSaver({ storage: new FilePersistenceStorageProvider({ directory }) });
  let calls = 0;
  const repeat = tool(({ text }) => (calls++, text.repeat(2)), {
    name: "repeat",
    description: "",
    schema: z.object({ text: z.string() }),
  });
  const [durable] = durableTools(checkpointer, [repeat]);
  const text = "t".repeat(100_000);
  const graph = graphOf(
    checkpointer,
    async () => `${(await durable.invoke({ text })).length}${interrupt<string, string>("ok?")}`,
  );
  await graph.invoke({ said: "" }, thread);
  const copied = await checkpointer.copyThread("order-7", "copy");
  await checkpointer.deleteThread("order-7");
  expect(await graph.invoke(new Command({ resume: "yes" }), { ...thread, ...copied })).toMatchObject({
    said: "200000yes",
  });
  expect(calls).toBe(1);
  await checkpointer[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

test("a pruning keeps the calls of the current node and removes those of removed checkpoints", async () => {
  const directory = await temporaryDirectory();
  const storage = new FilePersistenceStorageProvider({ directory });
  const checkpointer = new PersistenceSaver({ storage });
  const bank = new Bank();
  const graph = askingGraph(bank, checkpointer);
  await graph.invoke({ said: "" }, thread);
  await checkpointer.prune("order-7", { keep: 1 });
  // Another run begins, and leaves the node that asks.
  const [kept] = bank.keys;
  expect(await logIn(directory)).toContain(kept);
  await graph.updateState(thread, { said: "never mind" }, "work");
  await graph.invoke({ said: "again" }, thread);
  await checkpointer.prune("order-7", { keep: 1 });
  expect(await logIn(directory)).not.toContain(kept);
  await checkpointer[Symbol.asyncDispose]();
  const later = new PersistenceSaver({ storage });
  expect(await askingGraph(bank, later).invoke(new Command({ resume: "yes" }), thread)).toMatchObject({
    said: "charged 900, yes, charged 100",
  });
  expect(bank.charged).toEqual(["900", "900", "100"]);
  await later[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

/** Everything that the files of a storage say. */
async function logIn(directory: string): Promise<string> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return (await Promise.all(files.map((file) => readFile(file, "utf8")))).join("\n");
}

test("a long thread does not keep the calls of finished nodes", async () => {
  const bank = new Bank();
  const checkpointer = saver();
  const [charge] = durableTools(checkpointer, [bank.charge]);
  const graph = graphOf(checkpointer, async () => String(await charge.invoke({ cents: 900 })));
  for (let run = 0; run < 3; run++) await graph.invoke({ said: "" }, thread);
  const copied = await checkpointer.copyThread("order-7", "copy");
  expect(copied.configurable.thread_id).toBe("copy");
  expect(bank.charged.length).toBe(3);
  const settled = checkpointer.settleToolCall("copy", bank.keys[0]!, "retry");
  await expect(settled).rejects.toMatchObject({ code: "tool_call_not_in_doubt", ended: false });
});

test("a call of a thread that was deleted meanwhile ends the run", async () => {
  const bank = new Bank();
  const checkpointer = saver();
  const [charge] = durableTools(checkpointer, [bank.charge]);
  const graph = graphOf(checkpointer, async () => {
    await checkpointer.deleteThread("order-7");
    return String(await charge.invoke({ cents: 900 }));
  });
  await expect(graph.invoke({ said: "" }, thread)).rejects.toMatchObject({ code: "thread_deleted" });
  expect(bank.charged).toEqual([]);
  bank.afterwards = () => checkpointer.deleteThread("order-8");
  const other = graphOf(checkpointer, async () => String(await charge.invoke({ cents: 900 }).catch(() => "gone")));
  await expect(other.invoke({ said: "" }, { ...thread, configurable: { thread_id: "order-8" } })).rejects.toThrow(
    "deleted",
  );
});

test("calls of subgraphs and of parallel branches belong to their own tasks", async () => {
  const bank = new Bank();
  const checkpointer = saver();
  const [charge] = durableTools(checkpointer, [bank.charge]);
  const State = Annotation.Root({
    cents: Annotation<number>,
    said: Annotation<string[]>({ reducer: (a, b) => [...a, ...b].sort(), default: () => [] }),
  });
  const fails = new Set(["300"]);
  const inner = new StateGraph(State)
    .addNode("first", async ({ cents }) => ({ said: [`first: ${await charge.invoke({ cents })}`] }))
    .addNode("second", async ({ cents }) => {
      const said = await charge.invoke({ cents });
      if (fails.delete(`${cents}`)) throw new Error("down");
      return { said: [`second: ${said}`] };
    })
    .addEdge(START, "first")
    .addEdge("first", "second")
    .compile();
  const graph = new StateGraph(State)
    .addNode("branch", async (state) => ({ said: (await inner.invoke({ ...state, said: [] })).said }))
    .addConditionalEdges(START, () => [100, 200, 300].map((cents) => new Send("branch", { cents, said: [] })))
    .compile({ checkpointer });
  await expect(graph.invoke({ cents: 0 }, thread)).rejects.toThrow("down");
  const { said } = await graph.invoke(null, thread);
  expect(said).toEqual(
    ["first", "second"].flatMap((node) => [100, 200, 300].map((cents) => `${node}: charged ${cents}`)),
  );
  expect(bank.charged.toSorted()).toEqual(["100", "100", "200", "200", "300", "300"]);
  expect(new Set(bank.keys).size).toBe(6);
});

test("a subgraph without checkpoints cannot have durable tools", async () => {
  const bank = new Bank();
  const checkpointer = saver();
  const [charge] = durableTools(checkpointer, [bank.charge]);
  const inner = new StateGraph(Annotation.Root({ said: Annotation<string> }))
    .addNode("charge", async () => ({ said: String(await charge.invoke({ cents: 900 })) }))
    .addEdge(START, "charge")
    .compile({ checkpointer: false });
  const graph = graphOf(checkpointer, async () => (await inner.invoke({ said: "" })).said);
  await expect(graph.invoke({ said: "" }, thread)).rejects.toMatchObject({ where: "checkpoint_not_stored" });
  expect(bank.charged).toEqual([]);
});

test("a call that outlives an aborted run is recorded, and the next run waits for it", async () => {
  const bank = new Bank();
  const checkpointer = saver();
  let end = (): void => {};
  const release = tool(() => end(), { name: "release", description: "", schema: z.object({}) });
  const [charge, releasing] = durableTools(checkpointer, [bank.charge, release]);
  const stop = new AbortController();
  bank.afterwards = () => {
    stop.abort();
    return new Promise((resolve) => (end = resolve));
  };
  let runs = 0;
  const graph = graphOf(checkpointer, async () => {
    const charged = charge.invoke({ cents: 900 });
    // It begins after the other one has found its record.
    if (runs++ > 0) await releasing.invoke({});
    return String(await charged);
  });
  await expect(graph.invoke({ said: "" }, { ...thread, signal: stop.signal })).rejects.toThrow("bort");
  await expect(checkpointer.settleToolCall("order-7", bank.keys[0]!, "retry")).rejects.toMatchObject({ inDoubt: [] });
  expect(await graph.invoke(null, thread)).toEqual({ said: "charged 900" });
  expect(bank.charged).toEqual(["900"]);
});

test("a thread is kept while a tool runs, and handed over when idle", async () => {
  const bank = new Bank();
  const storage = new InMemoryPersistenceStorageProvider();
  const checkpointer = new PersistenceSaver({ storage });
  const [charge] = durableTools(checkpointer, [bank.charge]);
  const happened: string[] = [];
  const { log } = storage;
  const open = log.open.bind(log);
  const other = new PersistenceSaver({ storage });
  let waiting: Promise<unknown> | undefined;
  bank.afterwards = () =>
    // Whoever does nothing with a thread gives it back before it has been asked for so often.
    new Promise((resolve) => {
      let refused = 0;
      log.open = (...given) =>
        open(...given).catch((error: unknown) => {
          if (++refused === 8) resolve();
          throw error;
        });
      waiting = other.withThread("order-7", async () => happened.push("held by the other one"));
    });
  const graph = graphOf(checkpointer, async () => {
    const said = String(await charge.invoke({ cents: 900 }));
    happened.push(said);
    await waiting;
    return said;
  });
  const run = graph.invoke({ said: "" }, thread);
  await expect(run).resolves.toEqual({ said: "charged 900" });
  expect(happened).toEqual(["charged 900", "held by the other one"]);
  await Promise.all([checkpointer, other].map((each) => each[Symbol.asyncDispose]()));
});

test("a call that an abort interrupts is not recorded as failed", async () => {
  const checkpointer = saver();
  const stop = new AbortController();
  const keys: unknown[] = [];
  const slow = tool(
    (_input, { configurable }: ToolRunnableConfig) => {
      keys.push(configurable?.["idempotency_key"]);
      return keys.length > 1 ? "done" : new Promise(() => stop.abort());
    },
    { name: "slow", description: "", schema: z.object({}) },
  );
  const [durable] = durableTools(checkpointer, [slow], { slow: { effect: "idempotent" } });
  const graph = graphOf(checkpointer, async () => String(await durable.invoke({})));
  await expect(graph.invoke({ said: "" }, { ...thread, signal: stop.signal })).rejects.toThrow("bort");
  expect(await graph.invoke(null, thread)).toEqual({ said: "done" });
  expect([keys.length, new Set(keys).size]).toEqual([2, 1]);
});

test("telemetry shows calls with their outcome and marks recorded ones", async () => {
  const shown: (TelemetryFacts & { readonly failed?: boolean })[] = [];
  class Shown extends Telemetry {
    override start(operation: TelemetryOperation): TelemetrySpan {
      const span: TelemetrySpan = {
        run: (action) => action(),
        end: (facts, failure) => {
          const isCall = operation.kind === "execute_tool";
          if (isCall) shown.push({ ...operation, ...facts, ...(failure && { failed: true }) });
        },
      };
      return span;
    }
  }
  const bank = new Bank();
  const telemetry = new Shown();
  const checkpointer = new PersistenceSaver({ storage: new InMemoryPersistenceStorageProvider(), telemetry });
  const ask = tool(() => interrupt<string, string>("ok?"), { name: "ask", description: "", schema: z.object({}) });
  const refuse = tool(() => Promise.reject(new Error("no")), { name: "refuse", description: "", schema: z.object({}) });
  const [charge, refusing, asking] = durableTools(checkpointer, [bank.charge, refuse, ask], {
    ask: { effect: "none" },
  });
  const graph = graphOf(checkpointer, async () => {
    await charge.invoke({ ...calling(["a", 900]).tool_calls![0]!, type: "tool_call" });
    await refusing.invoke({}).catch(() => {});
    return String(await asking.invoke({}));
  });
  await graph.invoke({ said: "" }, thread);
  const call = { kind: "execute_tool", agentId: "order-7", nodeId: "work" };
  const charged = { ...call, toolName: "charge", toolCallId: bank.keys[0], effect: "irreversible" };
  expect(shown).toMatchObject([
    charged,
    { toolName: "refuse", failed: true },
    { toolName: "ask", status: "suspended" },
  ]);
  expect(shown.every(({ replayed }) => replayed === undefined)).toBe(true);
  await graph.invoke(new Command({ resume: "yes" }), thread);
  expect(shown.slice(3)).toMatchObject([
    { ...charged, replayed: true },
    { replayed: true, failed: true },
    { toolName: "ask" },
  ]);
});
