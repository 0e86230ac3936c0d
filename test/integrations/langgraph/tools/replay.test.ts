import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import {
  Annotation,
  Command,
  entrypoint,
  interrupt,
  MessagesAnnotation,
  START,
  StateGraph,
  task,
} from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { durableTools, PersistenceSaver } from "agent-persistence/langgraph";
import { expect, test } from "vitest";
import { z } from "zod";
import { Bank, calling, graphOf, thread } from "./bank.ts";
import { pictureOf } from "./pictureOf.ts";

test("an interrupted node gets the results of its calls when it runs again", async () => {
  const bank = new Bank();
  const checkpointer = new PersistenceSaver({ storage: new InMemoryPersistenceStorageProvider() });
  const [charge] = durableTools(checkpointer, [bank.charge]);
  const graph = graphOf(checkpointer, async () => {
    const charged = await charge.invoke({ cents: 900 });
    return `${charged}, ${interrupt<string, string>("ok?")}, ${await charge.invoke({ cents: 100 })}`;
  });
  await graph.invoke({ said: "" }, thread);
  expect(bank.charged).toEqual(["900"]);
  expect(await graph.invoke(new Command({ resume: "yes" }), thread)).toMatchObject({
    said: "charged 900, yes, charged 100",
  });
  expect(bank.charged).toEqual(["900", "100"]);
  expect(new Set(bank.keys).size).toBe(2);
});

test("a second answer to an interrupt repeats no recorded call, even of a finished sibling", async () => {
  const bank = new Bank();
  const storage = new InMemoryPersistenceStorageProvider();
  const graphOn = () => {
    const checkpointer = new PersistenceSaver({ storage });
    const [charge] = durableTools(checkpointer, [bank.charge]);
    const charged = async (cents: number) => String(await charge.invoke({ cents }));
    const said = Annotation<string[]>({ reducer: (before, added) => [...before, ...added], default: () => [] });
    const graph = new StateGraph(Annotation.Root({ said }))
      .addNode("pay", async () => ({ said: [await charged(50)] }))
      .addNode("ask", async () => ({
        said: [await charged(900), interrupt<string, string>("ok?"), await charged(100)],
      }))
      .addEdge(START, "pay")
      .addEdge(START, "ask")
      .compile({ checkpointer });
    return { checkpointer, graph };
  };
  const { checkpointer, graph } = graphOn();
  await graph.invoke({ said: [] }, thread);
  const asked = (await graph.getState(thread)).config;
  const first = await graph.invoke(new Command({ resume: "yes" }), thread);
  expect(first.said).toEqual(expect.arrayContaining(["charged 50", "charged 900", "yes", "charged 100"]));
  await checkpointer[Symbol.asyncDispose]();
  const later = graphOn().graph;
  for (let time = 0; time < 2; time++)
    expect(await later.invoke(new Command({ resume: "yes" }), { ...asked, durability: "sync" })).toEqual(first);
  expect(bank.charged.toSorted()).toEqual(["100", "50", "900"]);
});

test("a second answer to an interrupt may lead to other calls", async () => {
  const bank = new Bank();
  const checkpointer = new PersistenceSaver({ storage: new InMemoryPersistenceStorageProvider() });
  const [charge] = durableTools(checkpointer, [bank.charge]);
  const amounts = [900, 100];
  const graph = graphOf(checkpointer, async () => {
    interrupt("ok?");
    return String(await charge.invoke({ cents: amounts.shift()! }));
  });
  await graph.invoke({ said: "" }, thread);
  const asked = (await graph.getState(thread)).config;
  for (const said of ["charged 900", "charged 100"])
    expect(await graph.invoke(new Command({ resume: "yes" }), { ...asked, durability: "sync" })).toMatchObject({
      said,
    });
  expect(new Set(bank.keys).size).toBe(2);
});

test("two equal calls of a node stay two calls", async () => {
  const bank = new Bank();
  const checkpointer = new PersistenceSaver({ storage: new InMemoryPersistenceStorageProvider() });
  const [charge] = durableTools(checkpointer, [bank.charge]);
  const graph = graphOf(checkpointer, async () => {
    await Promise.all([charge.invoke({ cents: 900 }), charge.invoke({ cents: 900 })]);
    return interrupt<string, string>("ok?");
  });
  await graph.invoke({ said: "" }, thread);
  await graph.invoke(new Command({ resume: "yes" }), thread);
  expect(bank.charged).toEqual(["900", "900"]);
  expect(new Set(bank.keys).size).toBe(2);
});

test("a node with a failed sibling is not run again, and neither are its calls", async () => {
  const bank = new Bank();
  const checkpointer = new PersistenceSaver({ storage: new InMemoryPersistenceStorageProvider() });
  const [charge] = durableTools(checkpointer, [bank.charge]);
  let tries = 0;
  let charged: () => void = () => {};
  const afterCharge = new Promise<void>((resolve) => (charged = resolve));
  let failed: () => void = () => {};
  const afterFailure = new Promise<void>((resolve) => (failed = resolve));
  const graph = new StateGraph(Annotation.Root({ said: Annotation<string> }))
    .addNode("charge", async () => {
      const said = await charge.invoke({ cents: 900 });
      charged();
      await afterFailure;
      return { said };
    })
    .addNode("fail", async () => {
      await afterCharge;
      failed();
      if (tries++ === 0) throw new Error("down");
      return {};
    })
    .addEdge(START, "charge")
    .addEdge(START, "fail")
    .compile({ checkpointer });
  await expect(graph.invoke({ said: "" }, thread)).rejects.toThrow("down");
  expect(await graph.invoke(null, thread)).toMatchObject({ said: "charged 900" });
  expect(bank.charged).toEqual(["900"]);
});

test("a process gets the records of a killed process", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  const bank = new Bank();
  const pictures: InMemoryPersistenceStorageProvider[] = [];
  const graphOn = (on: InMemoryPersistenceStorageProvider) => {
    const checkpointer = new PersistenceSaver({ storage: on });
    const [charge] = durableTools(checkpointer, [bank.charge], { charge: { effect: "idempotent" } });
    return graphOf(checkpointer, async () => {
      const first = await charge.invoke({ cents: 900 });
      const second = charge.invoke({ cents: 100 });
      await second;
      if (pictures.length === 0) pictures.push(await pictureOf(on, "order-7", checkpointer));
      return `${first}, ${await second}`;
    });
  };
  await graphOn(storage).invoke({ said: "" }, thread);
  expect(bank.charged).toEqual(["900", "100"]);
  const said = await graphOn(pictures[0]!).invoke(null, thread);
  expect(said).toMatchObject({ said: "charged 900, charged 100" });
  expect(bank.charged).toEqual(["900", "100"]);
});

test("a ToolNode gets a message for each call, and the same messages in a replay", async () => {
  const bank = new Bank();
  const storage = new InMemoryPersistenceStorageProvider();
  let picture: InMemoryPersistenceStorageProvider | undefined;
  const graphOn = (on: InMemoryPersistenceStorageProvider) => {
    const checkpointer = new PersistenceSaver({ storage: on });
    const tools = new ToolNode(durableTools(checkpointer, [bank.charge]));
    return new StateGraph(MessagesAnnotation)
      .addNode("tools", async (state, config) => {
        const messages: unknown = await tools.invoke(state, config);
        picture ??= await pictureOf(on, "order-7", checkpointer);
        return messages as typeof state;
      })
      .addEdge(START, "tools")
      .compile({ checkpointer });
  };
  const first = await graphOn(storage).invoke({ messages: [calling(["a", 900], ["b", 900])] }, thread);
  expect(first.messages.slice(1)).toMatchObject([
    { tool_call_id: "a", content: "charged 900", name: "charge" },
    { tool_call_id: "b", content: "charged 900", name: "charge" },
  ]);
  expect(first.messages.slice(1).every((message) => ToolMessage.isInstance(message))).toBe(true);
  const { messages } = await graphOn(picture!).invoke(null, thread);
  expect(messages.slice(1).map(({ content }) => content)).toEqual(["charged 900", "charged 900"]);
  expect(bank.charged).toEqual(["900", "900"]);
});

test("calls with ids may be made in any order", async () => {
  const bank = new Bank();
  const checkpointer = new PersistenceSaver({ storage: new InMemoryPersistenceStorageProvider() });
  const [charge] = durableTools(checkpointer, [bank.charge]);
  let runs = 0;
  const graph = graphOf(checkpointer, async () => {
    const calls = calling(["a", 900], ["b", 100]).tool_calls ?? [];
    const said = [];
    for (const call of runs++ === 0 ? calls : calls.toReversed())
      said.push((await charge.invoke({ ...call, type: "tool_call" })).text);
    interrupt("ok?");
    return said.join();
  });
  await graph.invoke({ said: "" }, thread);
  const { said } = await graph.invoke(new Command({ resume: "yes" }), thread);
  expect(said).toBe("charged 100,charged 900");
  expect(bank.charged).toEqual(["900", "100"]);
});

test("a node that asks its model again does not repeat the calls with new ids", async () => {
  const bank = new Bank();
  const checkpointer = new PersistenceSaver({ storage: new InMemoryPersistenceStorageProvider() });
  const [charge] = durableTools(checkpointer, [bank.charge]);
  let asked = 0;
  const graph = graphOf(checkpointer, async () => {
    const said = [];
    for (const cents of [900, 900, 100]) {
      const [call] = calling([`call-${asked++}`, cents]).tool_calls ?? [];
      said.push((await charge.invoke({ ...call!, type: "tool_call" })).text);
      if (said.length === 2) interrupt("ok?");
    }
    return said.join();
  });
  await graph.invoke({ said: "" }, thread);
  expect(bank.charged).toEqual(["900", "900"]);
  const { said } = await graph.invoke(new Command({ resume: "yes" }), thread);
  expect(said).toBe("charged 900,charged 900,charged 100");
  expect(bank.charged).toEqual(["900", "900", "100"]);
  expect(new Set(bank.keys).size).toBe(3);
});

test("two equal calls stay two calls if the second has the id of the recorded one", async () => {
  const bank = new Bank();
  const checkpointer = new PersistenceSaver({ storage: new InMemoryPersistenceStorageProvider() });
  const [charge] = durableTools(checkpointer, [bank.charge]);
  let runs = 0;
  const graph = graphOf(checkpointer, async () => {
    const calls = (runs++ === 0 ? calling(["a", 900]) : calling(["b", 900], ["a", 900])).tool_calls ?? [];
    for (const call of calls) await charge.invoke({ ...call, type: "tool_call" });
    return interrupt<string, string>("ok?");
  });
  await graph.invoke({ said: "" }, thread);
  await graph.invoke(new Command({ resume: "yes" }), thread);
  expect(bank.charged).toEqual(["900", "900"]);
  expect(new Set(bank.keys).size).toBe(2);
});

test("calls of a finished node are forgotten, and later nodes make new calls", async () => {
  const bank = new Bank();
  const checkpointer = new PersistenceSaver({ storage: new InMemoryPersistenceStorageProvider() });
  const [charge] = durableTools(checkpointer, [bank.charge]);
  const graph = graphOf(checkpointer, async () => String(await charge.invoke({ cents: 900 })));
  await graph.invoke({ said: "" }, thread);
  await graph.invoke({ said: "" }, thread);
  expect(bank.charged).toEqual(["900", "900"]);
  expect(new Set(bank.keys).size).toBe(2);
});

test("tasks of the functional API have separate calls", async () => {
  const bank = new Bank();
  const checkpointer = new PersistenceSaver({ storage: new InMemoryPersistenceStorageProvider() });
  const [charge] = durableTools(checkpointer, [bank.charge]);
  let fails = true;
  const charging = task("charging", async (cents: number) => {
    const charged = await charge.invoke({ cents });
    if (cents === 900 && fails) throw new Error("down");
    return charged;
  });
  const work = entrypoint({ name: "work", checkpointer }, async (cents: readonly number[]) => {
    const charged = [];
    for (const each of cents) charged.push(await charging(each));
    return [...charged, await charge.invoke({ cents: 1 })].join(", ");
  });
  await expect(work.invoke([100, 900], thread)).rejects.toThrow("down");
  fails = false;
  expect(await work.invoke(null, thread)).toBe("charged 100, charged 900, charged 1");
  expect(bank.charged).toEqual(["100", "900", "1"]);
});

test("a copy of a thread made while a tool runs does not wait and uses another key", async () => {
  const bank = new Bank();
  const checkpointer = new PersistenceSaver({ storage: new InMemoryPersistenceStorageProvider() });
  const [charge] = durableTools(checkpointer, [bank.charge]);
  const graph = graphOf(checkpointer, async () => String(await charge.invoke({ cents: 900 })));
  let end = (): void => {};
  const inTool = new Promise<void>((began) => {
    bank.afterwards = () => {
      bank.afterwards = () => {};
      began();
      return new Promise((resolve) => (end = resolve));
    };
  });
  const made = graph.invoke({ said: "" }, thread);
  await inTool;
  const copy = await checkpointer.copyThread("order-7", "copy");
  expect(await graph.invoke(null, { ...thread, ...copy })).toEqual({ said: "charged 900" });
  end();
  expect(await made).toEqual({ said: "charged 900" });
  expect([bank.charged, new Set(bank.keys).size]).toEqual([["900", "900"], 2]);
});

test.each(["message", "command"] as const)(
  "a replayed %s answers the current call if the model issues another id",
  async (kind) => {
    const made: string[] = [];
    const checkpointer = new PersistenceSaver({ storage: new InMemoryPersistenceStorageProvider() });
    const lookUp = tool(
      (_input, { toolCall: { id = "" } }) => {
        made.push(id);
        const message = new ToolMessage({ content: "found", tool_call_id: id });
        const command = new Command({ update: { messages: [message] } });
        return kind === "command" ? command : message;
      },
      { name: "look_up", description: "", schema: z.object({}) },
    );
    const node = new ToolNode(durableTools(checkpointer, [lookUp]));
    const crashed = new Error("crashed");
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("tools", async (_state, config) => {
        const id = `call_${made.length + 1}`;
        const asked = new AIMessage({
          content: "",
          tool_calls: [{ id, name: "look_up", args: {}, type: "tool_call" }],
        });
        const answers = (await node.invoke({ messages: [asked] }, config)) as unknown;
        if (id === "call_1") throw crashed;
        return answers as { messages: [] };
      })
      .addEdge(START, "tools")
      .compile({ checkpointer });
    await expect(graph.invoke({ messages: [] }, thread)).rejects.toThrow("crashed");
    const { messages } = await graph.invoke(null, thread);
    expect(messages).toMatchObject([{ tool_call_id: "call_2", content: "found" }]);
    expect(messages[0]?.toJSON()).toMatchObject({ kwargs: { tool_call_id: "call_2" } });
    expect(made).toEqual(["call_1"]);
  },
);

test.each(["message", "command"] as const)(
  "a joined %s answers the call of the retry and of the first attempt",
  async (kind) => {
    const checkpointer = new PersistenceSaver({ storage: new InMemoryPersistenceStorageProvider() });
    let start = (): void => {};
    const started = new Promise<void>((resolve) => (start = resolve));
    let release = (): void => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    const made: string[] = [];
    const lookUp = tool(
      async (_input, { toolCall: { id = "" } }) => {
        made.push(id);
        start();
        await released;
        const message = new ToolMessage({ content: "found", tool_call_id: id });
        return kind === "command" ? new Command({ update: { messages: [message] } }) : message;
      },
      { name: "look_up", description: "", schema: z.object({}) },
    );
    const [durable] = durableTools(checkpointer, [lookUp]);
    const outputs: Promise<unknown>[] = [];
    const graph = new StateGraph(Annotation.Root({ said: Annotation<string> }))
      .addNode(
        "work",
        async () => {
          const id = `call_${outputs.length + 1}`;
          outputs.push(durable.invoke({ id, name: "look_up", args: {}, type: "tool_call" }));
          if (outputs.length === 2) release();
          await started;
          if (outputs.length === 1) throw new Error("the node fails while its call runs");
          return { said: JSON.stringify(await outputs[1]) };
        },
        { retryPolicy: { maxAttempts: 2, initialInterval: 1, jitter: false, logWarning: false } },
      )
      .addEdge(START, "work")
      .compile({ checkpointer });
    const { said } = await graph.invoke({ said: "" }, thread);
    expect(said).toContain('"tool_call_id":"call_2"');
    expect(said).not.toContain("call_1");
    expect(JSON.stringify(await outputs[0])).toContain('"tool_call_id":"call_1"');
    expect(made).toEqual(["call_1"]);
  },
);
