import { Annotation, Command, interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { tool } from "@langchain/core/tools";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import {
  durableTools,
  PersistenceSaver,
  type GraphToolSettings,
  type PersistenceSaverOptions,
} from "agent-persistence/langgraph";
import { expect, test } from "vitest";
import { z } from "zod";
import { Bank, calling, graphOf, thread } from "./bank.ts";
import { pictureOf } from "./pictureOf.ts";

/** A storage of a process that was killed once the bank had charged 900. */
async function killedAfterCharge(bank: Bank, settings: GraphToolSettings<{ cents: number }> = {}) {
  const storage = new InMemoryPersistenceStorageProvider();
  let picture = storage;
  bank.afterwards = async () => {
    picture = await pictureOf(storage, "order-7");
  };
  await charging(bank, storage, settings).graph.invoke({ said: "" }, thread);
  bank.afterwards = () => {};
  return picture;
}

function charging(
  bank: Bank,
  storage: InMemoryPersistenceStorageProvider,
  settings: GraphToolSettings<{ cents: number }>,
  options: Partial<PersistenceSaverOptions> = {},
) {
  const checkpointer = new PersistenceSaver({ ...options, storage });
  const [charge] = durableTools(checkpointer, [bank.charge], { charge: settings });
  return { checkpointer, graph: graphOf(checkpointer, async () => String(await charge.invoke({ cents: 900 }))) };
}

test("a call that was interrupted is not repeated unless its tool permits it", async () => {
  for (const effect of [undefined, "irreversible", "reversible"] as const) {
    const bank = new Bank();
    const storage = await killedAfterCharge(bank, { effect });
    const { graph } = charging(bank, storage, { effect });
    for (let time = 0; time < 2; time++)
      await expect(graph.invoke(null, thread)).rejects.toMatchObject({
        name: "ToolCallInDoubtError",
        code: "tool_call_in_doubt",
        agentId: "order-7",
        toolName: "charge",
        toolCallId: bank.keys[0],
        nodeId: "work",
        message: expect.stringContaining(`checkpointer.settleToolCall("order-7", "${bank.keys[0]}", `) as string,
      });
    expect(bank.charged).toEqual(["900"]);
  }
});

test("a repeatable call is made again under its id", async () => {
  for (const effect of ["idempotent", "none"] as const) {
    const bank = new Bank();
    const storage = await killedAfterCharge(bank, { effect });
    expect(await charging(bank, storage, { effect }).graph.invoke(null, thread)).toMatchObject({ said: "charged 900" });
    expect(bank.charged).toEqual(["900", "900"]);
    expect(new Set(bank.keys).size).toBe(1);
  }
});

test("a probe of the tool determines the outcome of a call from its input and id", async () => {
  const answers = ["done", "not-done", { status: "done", output: "found" }] as const;
  for (const answer of answers) {
    const bank = new Bank();
    const storage = await killedAfterCharge(bank);
    const asked: unknown[] = [];
    const { graph } = charging(bank, storage, {
      probe: ({ cents }, { toolCallId }) => {
        asked.push({ cents, toolCallId });
        return answer;
      },
    });
    const { said } = await graph.invoke(null, thread);
    expect(asked).toEqual([{ cents: 900, toolCallId: bank.keys[0] }]);
    expect(said).toBe(answer === "done" ? "undefined" : answer === "not-done" ? "charged 900" : "found");
    expect(bank.charged.length).toBe(answer === "not-done" ? 2 : 1);
    expect(new Set(bank.keys).size).toBe(1);
  }
});

test("the option of the checkpointer decides if no probe does", async () => {
  const bank = new Bank();
  const storage = await killedAfterCharge(bank);
  const decided = charging(
    bank,
    storage,
    {},
    { onToolCallInDoubt: ({ input }) => ({ output: JSON.stringify(input) }) },
  );
  expect(await decided.graph.invoke(null, thread)).toMatchObject({ said: '{"cents":900}' });
  const other = new Bank();
  const retried = charging(other, await killedAfterCharge(other), {}, { onToolCallInDoubt: "retry" });
  expect(await retried.graph.invoke(null, thread)).toMatchObject({ said: "charged 900" });
  expect([bank.charged, other.charged]).toEqual([["900"], ["900", "900"]]);
});

test("a person settles a call in doubt, and the next run continues from there", async () => {
  const settlements = [
    [{ output: "charged, says the bank" }, "charged, says the bank"],
    [{ error: "declined" }, "declined"],
    ["unknown", "It is not known whether this call had its effect"],
    ["retry", "charged 900"],
  ] as const;
  for (const [settlement, told] of settlements) {
    const bank = new Bank();
    const { checkpointer, graph } = charging(bank, await killedAfterCharge(bank), {});
    await checkpointer.settleToolCall("order-7", bank.keys[0]!, settlement);
    const said = await graph.invoke(null, thread).then(
      (state) => state.said,
      (error: Error) => error.message,
    );
    expect(said).toContain(told);
    expect(bank.charged.length).toBe(settlement === "retry" ? 2 : 1);
  }
});

test("only a call in doubt can be settled", async () => {
  const bank = new Bank();
  const { checkpointer, graph } = charging(bank, await killedAfterCharge(bank), {});
  await expect(checkpointer.settleToolCall("order-7", "other", "retry")).rejects.toMatchObject({
    code: "tool_call_not_in_doubt",
    inDoubt: [{ toolCallId: bank.keys[0], toolName: "charge" }],
  });
  const wrong = checkpointer.settleToolCall("order-7", bank.keys[0]!, "yes" as never);
  await expect(wrong).rejects.toMatchObject({ code: "invalid_input" });
  const unstorable = checkpointer.settleToolCall("order-7", bank.keys[0]!, { output: () => {} });
  await expect(unstorable).rejects.toMatchObject({ code: "not_serializable" });
  await checkpointer.settleToolCall("order-7", bank.keys[0]!, { output: "done" });
  await graph.invoke(null, thread);
  const late = checkpointer.settleToolCall("order-7", bank.keys[0]!, "retry");
  await expect(late).rejects.toMatchObject({ code: "tool_call_not_in_doubt", inDoubt: [] });
});

test("a ToolNode does not tell the model about a call in doubt, even with handleToolErrors", async () => {
  const bank = new Bank();
  const storage = new InMemoryPersistenceStorageProvider();
  let picture: InMemoryPersistenceStorageProvider | undefined;
  const graphOn = (on: InMemoryPersistenceStorageProvider, handleToolErrors: boolean) => {
    const checkpointer = new PersistenceSaver({ storage: on });
    const told: unknown[] = [];
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("tools", new ToolNode(durableTools(checkpointer, [bank.charge]), { handleToolErrors }))
      .addNode("model", ({ messages }) => {
        told.push(...messages.slice(1));
        return {};
      })
      .addEdge(START, "tools")
      .addEdge("tools", "model")
      .compile({ checkpointer });
    return { graph, told };
  };
  bank.afterwards = async () => {
    picture ??= await pictureOf(storage, "order-7");
  };
  await graphOn(storage, true).graph.invoke({ messages: [calling(["a", 900], ["b", 100])] }, thread);
  for (const durability of ["sync", "async"] as const)
    for (const handleToolErrors of [true, false]) {
      const { graph, told } = graphOn(picture!, handleToolErrors);
      const error: unknown = await graph.invoke(null, { ...thread, durability }).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "tool_call_in_doubt", name: "ToolCallInDoubtError" });
      expect(told).toEqual([]);
    }
  expect(bank.charged).toEqual(["900", "100"]);
});

test("a node that catches the error of a call in doubt cannot store its state", async () => {
  const bank = new Bank();
  const checkpointer = new PersistenceSaver({ storage: await killedAfterCharge(bank) });
  const [charge] = durableTools(checkpointer, [bank.charge]);
  const graph = graphOf(checkpointer, () => charge.invoke({ cents: 900 }).catch(() => "never mind"));
  await expect(graph.invoke(null, thread)).rejects.toMatchObject({ code: "tool_call_in_doubt" });
  expect(await checkpointer.getTuple(thread)).toMatchObject({ checkpoint: { channel_values: { said: "" } } });
  await checkpointer.settleToolCall("order-7", bank.keys[0]!, { output: "settled" });
  expect(await graph.invoke(null, thread)).toMatchObject({ said: "settled" });
});

test("a node whose error handler returns a state cannot store it after a call in doubt", async () => {
  const bank = new Bank();
  const checkpointer = new PersistenceSaver({ storage: await killedAfterCharge(bank) });
  const [charge] = durableTools(checkpointer, [bank.charge]);
  const graph = new StateGraph(Annotation.Root({ said: Annotation<string> }))
    .addNode("work", async () => ({ said: String(await charge.invoke({ cents: 900 })) }), {
      errorHandler: () => ({ said: "handled" }),
    })
    .addEdge(START, "work")
    .compile({ checkpointer });
  for (let time = 0; time < 3; time++)
    await expect(graph.invoke(null, thread)).rejects.toMatchObject({ code: "tool_call_in_doubt" });
  await checkpointer.settleToolCall("order-7", bank.keys[0]!, { output: "settled" });
  expect(await graph.invoke(null, thread)).toMatchObject({ said: "settled" });
});

test("a reader of the thread does not let such a node store its state", async () => {
  const bank = new Bank();
  const checkpointer = new PersistenceSaver({ storage: await killedAfterCharge(bank) });
  const [charge] = durableTools(checkpointer, [bank.charge]);
  const graph = graphOf(checkpointer, async () => {
    const said = await charge.invoke({ cents: 900 }).catch(() => "never mind");
    await checkpointer.getTuple(thread);
    return String(said);
  });
  await expect(graph.invoke(null, thread)).rejects.toMatchObject({ code: "tool_call_in_doubt" });
  await checkpointer.settleToolCall("order-7", bank.keys[0]!, { output: "settled" });
  expect(await graph.invoke(null, thread)).toMatchObject({ said: "settled" });
});

test("a node that is retried after a doubt stores its state", async () => {
  const bank = new Bank();
  const checkpointer = new PersistenceSaver({ storage: await killedAfterCharge(bank) });
  const answers = ["unknown", "done"] as const;
  let asked = 0;
  const [charge] = durableTools(checkpointer, [bank.charge], {
    charge: { probe: () => answers[asked++] ?? "unknown" },
  });
  const graph = new StateGraph(Annotation.Root({ said: Annotation<string> }))
    .addNode("work", async () => ({ said: `got ${await charge.invoke({ cents: 900 })}` }), {
      retryPolicy: { maxAttempts: 2, initialInterval: 1, jitter: false, logWarning: false },
    })
    .addEdge(START, "work")
    .compile({ checkpointer });
  expect(await graph.invoke(null, thread)).toEqual({ said: "got undefined" });
  expect([asked, bank.charged]).toEqual([2, ["900"]]);
});

test("a tool with a call in doubt inside is in doubt, not failed", async () => {
  const bank = new Bank();
  const storage = new InMemoryPersistenceStorageProvider();
  let picture = storage;
  const graphOn = (on: InMemoryPersistenceStorageProvider) => {
    const checkpointer = new PersistenceSaver({ storage: on });
    const [charge] = durableTools(checkpointer, [bank.charge]);
    const paying = tool(() => charge.invoke({ cents: 900 }), { name: "paying", description: "", schema: z.object({}) });
    const [outer] = durableTools(checkpointer, [paying], { paying: { probe: () => "not-done" } });
    const told: string[] = [];
    const graph = graphOf(checkpointer, () =>
      outer.invoke({}).catch((error: Error) => {
        told.push(error.message);
        throw error;
      }),
    );
    return { checkpointer, graph };
  };
  bank.afterwards = async () => {
    picture = await pictureOf(storage, "order-7");
  };
  await graphOn(storage).graph.invoke({ said: "" }, thread);
  const { checkpointer, graph } = graphOn(picture);
  await expect(graph.invoke(null, thread)).rejects.toMatchObject({ toolName: "charge", toolCallId: bank.keys[0] });
  const left = await checkpointer.settleToolCall("order-7", "none", "retry").catch((error: unknown) => error);
  expect(left).toMatchObject({ inDoubt: [{ toolName: "paying" }, { toolName: "charge" }] });
  await checkpointer.settleToolCall("order-7", bank.keys[0]!, { output: "settled" });
  expect(await graph.invoke(null, thread)).toEqual({ said: "settled" });
  expect(bank.charged).toEqual(["900"]);
});

test("the model is not told about a storage error of a graph within a tool", async () => {
  const checkpointer = new PersistenceSaver({ storage: new InMemoryPersistenceStorageProvider() });
  const inner = new StateGraph(Annotation.Root({ close: Annotation<() => void> }))
    .addNode("open", () => ({ close: () => {} }))
    .addEdge(START, "open")
    .compile();
  const opening = tool(async () => Object.keys(await inner.invoke({})).join(), {
    name: "charge",
    description: "",
    schema: z.object({ cents: z.int() }),
  });
  for (const tools of [[opening], durableTools(checkpointer, [opening], { charge: { effect: "none" } })]) {
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("tools", new ToolNode(tools))
      .addEdge(START, "tools")
      .compile({ checkpointer });
    const run = graph.invoke({ messages: [calling(["a", 900])] }, thread);
    await expect(run).rejects.toMatchObject({ code: "not_serializable" });
  }
});

test("another call in place of a call with an effect is refused", async () => {
  const bank = new Bank();
  const storage = await killedAfterCharge(bank);
  const checkpointer = new PersistenceSaver({ storage });
  const [charge] = durableTools(checkpointer, [bank.charge]);
  const graph = graphOf(checkpointer, async () => String(await charge.invoke({ cents: 901 })));
  await expect(graph.invoke(null, thread)).rejects.toMatchObject({
    code: "replay_diverged",
    effects: [{ toolCallId: bank.keys[0], toolName: "charge", inDoubt: true }],
    message: expect.stringContaining("invoke the graph with the checkpoint_id of an earlier checkpoint") as string,
  });
  expect(bank.charged).toEqual(["900"]);
});

test("a call with another id and input is refused while a recorded call with an effect is not repeated", async () => {
  const bank = new Bank();
  const checkpointer = new PersistenceSaver({ storage: new InMemoryPersistenceStorageProvider() });
  const [charge] = durableTools(checkpointer, [bank.charge]);
  let cents = 900;
  const graph = graphOf(checkpointer, async () => {
    const [call] = calling([`call-${cents}`, cents++]).tool_calls ?? [];
    await charge.invoke({ ...call!, type: "tool_call" });
    return interrupt<string, string>("ok?");
  });
  await graph.invoke({ said: "" }, thread);
  await expect(graph.invoke(new Command({ resume: "yes" }), thread)).rejects.toMatchObject({
    code: "replay_diverged",
    effects: [{ toolCallId: bank.keys[0], toolName: "charge", inDoubt: false }],
  });
  expect(bank.charged).toEqual(["900"]);
});
