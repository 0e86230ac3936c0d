import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { DynamicTool, StructuredTool, tool, type ToolRunnableConfig } from "@langchain/core/tools";
import { Annotation, Command, interrupt, MessagesAnnotation, Send, START, StateGraph } from "@langchain/langgraph";
import { createReactAgent, ToolNode } from "@langchain/langgraph/prebuilt";
import { JsonPlusSerializer } from "@langchain/langgraph-checkpoint";
import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { durableTools, PersistenceSaver } from "agent-persistence/langgraph";
import { fakeModel } from "@langchain/core/testing";
import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { Bank, calling, graphOf, thread } from "./bank.ts";
import { pictureOf } from "./pictureOf.ts";

const saver = () => new PersistenceSaver({ storage: new InMemoryPersistenceStorageProvider() });
const schema = z.object({ id: z.string() });

/** What a node gets of a call that is made, and of the same that is recorded. */
async function twice(checkpointer: PersistenceSaver, call: () => Promise<unknown>): Promise<readonly unknown[]> {
  const got: unknown[] = [];
  const graph = graphOf(checkpointer, async () => {
    got.push(await call().catch((error: unknown) => `failed: ${(error as Error).message}`));
    return interrupt<string, string>("ok?");
  });
  await graph.invoke({ said: "" }, thread);
  await graph.invoke(new Command({ resume: "yes" }), thread);
  return got;
}

test("a durable tool has the properties and type of the wrapped tool", async () => {
  const bank = new Bank();
  const [charge] = durableTools(saver(), [bank.charge]);
  const { name, description, schema: given, lc_namespace, returnDirect } = bank.charge;
  expect(charge).toMatchObject({ name, description, schema: given, lc_namespace, returnDirect });
  expect(charge).toBeInstanceOf(bank.charge.constructor);
  expectTypeOf(charge).toEqualTypeOf(bank.charge);
});

test("settings are typed by the names and inputs of the tools", () => {
  const bank = new Bank();
  const find = tool(() => "", { name: "find", description: "", schema });
  const make = () =>
    durableTools(saver(), [bank.charge, find], {
      find: { effect: "none" },
      charge: {
        probe: ({ cents }) => {
          expectTypeOf(cents).toEqualTypeOf<number>();
          return "done";
        },
      },
    });
  expectTypeOf(make).returns.toEqualTypeOf<[typeof bank.charge, typeof find]>();
  // @ts-expect-error no tool has this name
  const misnamed = () => durableTools(saver(), [find], { fnd: { effect: "none" } });
  // @ts-expect-error not an effect
  const misdeclared = () => durableTools(saver(), [find], { find: { effect: "readonly" } });
  expect(misnamed).toThrow(
    expect.objectContaining({ code: "invalid_input", message: expect.stringContaining("settings.fnd") as unknown }),
  );
  expect(misdeclared).toThrow(expect.objectContaining({ code: "invalid_input" }));
});

test("wrong arguments are refused", () => {
  const { charge } = new Bank();
  const invalid = expect.objectContaining({ code: "invalid_input" }) as unknown;
  const durable = durableTools(saver(), [charge]);
  const wrong = (value: unknown) => value as never;
  const storage = new InMemoryPersistenceStorageProvider();
  expect(() => durableTools(wrong({}), [charge])).toThrow(invalid as Error);
  expect(() => durableTools(saver(), wrong(charge))).toThrow(invalid as Error);
  expect(() => durableTools(saver(), [wrong({ name: "charge" })])).toThrow(invalid as Error);
  expect(() => durableTools(saver(), durable)).toThrow(invalid as Error);
  expect(() => durableTools(saver(), [charge], wrong(null))).toThrow(invalid as Error);
  expect(() => durableTools(saver(), [charge, charge])).toThrow(expect.objectContaining({ code: "duplicate_tool" }));
  expect(() => new PersistenceSaver({ storage, onToolCallInDoubt: wrong("guess") })).toThrow(invalid as Error);
});

test("a tool gets its idempotency key, its signal and the config of the node", async () => {
  const checkpointer = saver();
  const seen: ToolRunnableConfig[] = [];
  const look = tool((_input, config: ToolRunnableConfig) => void seen.push(config), {
    name: "look",
    description: "",
    schema,
  });
  for (const effect of ["none", "irreversible"] as const) {
    const [durable] = durableTools(checkpointer, [look], { look: { effect } });
    const graph = graphOf(checkpointer, async () => String(await durable.invoke({ id: "1" }, { tags: ["own"] })));
    await graph.invoke({ said: "" }, { ...thread, signal: new AbortController().signal });
  }
  expect(new Set(seen.map(({ configurable }) => configurable?.["idempotency_key"] as string)).size).toBe(2);
  for (const { configurable, signal, tags } of seen) {
    expect(configurable).toMatchObject({
      thread_id: "order-7",
      idempotency_key: expect.stringMatching(/^[\w-]{22}$/) as string,
    });
    expect(signal).toBeInstanceOf(AbortSignal);
    expect(tags).toEqual(["own"]);
  }
});

test("tools of every kind are recorded with their return values", async () => {
  const calls: string[] = [];
  const named = (name: string) => ({ name, description: "", schema });
  class Finder extends StructuredTool<typeof schema> {
    name = "finder";
    description = "";
    schema = schema;
    async _call({ id }: { id: string }): Promise<unknown> {
      calls.push(this.name);
      return { id, at: new Date(0) };
    }
  }
  const text = new DynamicTool({
    name: "text",
    description: "",
    func: async (input) => (calls.push("text"), `got ${input}`),
  });
  const artifact = tool(async ({ id }) => (calls.push("artifact"), ["content", { of: id }]), {
    ...named("artifact"),
    responseFormat: "content_and_artifact",
  });
  const yielding = tool(async function* steps({ id }: { id: string }) {
    calls.push("yielding");
    yield "half";
    return `whole ${id}`;
  }, named("yielding"));
  const json = tool(async (input) => (calls.push("json"), JSON.stringify(input)), {
    name: "json",
    description: "",
    schema: { type: "object", properties: { id: { type: "string" } }, required: ["id"] } as const,
  });
  const cases = [
    [new Finder(), { id: "1" }, { id: "1", at: new Date(0) }],
    [text, "a word", "got a word"],
    [artifact, { id: "1" }, "content"],
    [
      artifact,
      { id: "c", name: "artifact", args: { id: "1" }, type: "tool_call" },
      { content: "content", artifact: { of: "1" }, tool_call_id: "c" },
    ],
    [yielding, { id: "1" }, "whole 1"],
    [json, { id: "1" }, '{"id":"1"}'],
  ] as const;
  for (const [given, input, expected] of cases) {
    const checkpointer = saver();
    const [durable] = durableTools(checkpointer, [given as typeof text] as const);
    const [made, recorded] = await twice(checkpointer, () => durable.invoke(input as string));
    if (typeof expected === "string") expect(made).toBe(expected);
    else expect(made).toMatchObject(expected);
    expect(recorded).toEqual(made);
  }
  expect(calls).toEqual(["finder", "text", "artifact", "artifact", "yielding", "json"]);
});

test("callbacks of a generator tool get the yielded values", async () => {
  const checkpointer = saver();
  const yielding = tool(
    async function* steps() {
      yield "half";
      return "whole";
    },
    { name: "steps", description: "", schema },
  );
  const [durable] = durableTools(checkpointer, [yielding]);
  const heard: unknown[] = [];
  const callbacks = [{ handleToolEvent: (chunk: unknown) => void heard.push(chunk) }];
  await twice(checkpointer, () => durable.invoke({ id: "1" }, { callbacks }));
  expect(heard).toEqual(["half"]);
});

test("a command that a tool returns is restored from its record", async () => {
  let calls = 0;
  let picture: InMemoryPersistenceStorageProvider | undefined;
  const storage = new InMemoryPersistenceStorageProvider();
  const route = tool(
    (_input, { toolCall }: ToolRunnableConfig) => {
      calls++;
      return new Command({
        goto: [new Send("other", { said: "sent" })],
        update: { messages: [new ToolMessage({ content: "gone", tool_call_id: toolCall?.id ?? "" })] },
      });
    },
    { name: "charge", description: "", schema: z.object({ cents: z.int() }) },
  );
  const State = Annotation.Root({ ...MessagesAnnotation.spec, said: Annotation<string> });
  const graphOn = (on: InMemoryPersistenceStorageProvider) => {
    const checkpointer = new PersistenceSaver({ storage: on });
    const tools = new ToolNode(durableTools(checkpointer, [route]));
    return new StateGraph(State)
      .addNode(
        "tools",
        async (state, config) => {
          const made: unknown = await tools.invoke(state, config);
          picture ??= await pictureOf(on, "order-7", checkpointer);
          return made as typeof State.Update;
        },
        { ends: ["other"] },
      )
      .addNode("other", ({ said }) => ({ said: `other was ${said}` }))
      .addEdge(START, "tools")
      .compile({ checkpointer });
  };
  const first = await graphOn(storage).invoke({ messages: [calling(["a", 1])] }, thread);
  const again = await graphOn(picture!).invoke(null, thread);
  for (const { said, messages } of [first, again]) {
    expect(said).toBe("other was sent");
    expect(messages.at(-1)).toMatchObject({ content: "gone", tool_call_id: "a" });
  }
  expect(calls).toBe(1);
});

test("a tool continues after an interrupt with its answer, without repeating other calls", async () => {
  const bank = new Bank();
  const checkpointer = saver();
  const keys: unknown[] = [];
  const ask = tool(
    ({ id }, config: ToolRunnableConfig) => {
      keys.push(config.configurable?.["idempotency_key"]);
      return `${id}: ${interrupt<string, string>("ok?")}`;
    },
    { name: "ask", description: "", schema },
  );
  const tools = durableTools(checkpointer, [bank.charge, ask]);
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("tools", new ToolNode([...tools]))
    .addEdge(START, "tools")
    .compile({ checkpointer });
  const message = new AIMessage({
    content: "",
    tool_calls: [...(calling(["a", 900]).tool_calls ?? []), { id: "b", name: "ask", args: { id: "7" } }],
  });
  expect(await graph.invoke({ messages: [message] }, thread)).toMatchObject({ __interrupt__: [{ value: "ok?" }] });
  const { messages } = await graph.invoke(new Command({ resume: "yes" }), thread);
  expect(messages.slice(1).map(({ content }) => content)).toEqual(["charged 900", "7: yes"]);
  expect(bank.charged).toEqual(["900"]);
  expect(new Set(keys).size).toBe(1);
});

test("an error of a tool is replayed to the node until the node fails with it", async () => {
  const checkpointer = saver();
  let calls = 0;
  const decline = tool(
    () => {
      calls++;
      throw new RangeError("declined");
    },
    { name: "decline", description: "", schema },
  );
  const [durable] = durableTools(checkpointer, [decline]);
  expect(await twice(checkpointer, () => durable.invoke({ id: "1" }))).toEqual([
    "failed: declined",
    "failed: declined",
  ]);
  expect(calls).toBe(1);
  const failing = graphOf(checkpointer, async () => String(await durable.invoke({ id: "2" })));
  for (let time = 0; time < 2; time++)
    await expect(failing.invoke(time ? null : { said: "" }, thread)).rejects.toBeInstanceOf(RangeError);
  expect(calls).toBe(3);
});

test("a retried node repeats only its failed calls", async () => {
  const bank = new Bank();
  const checkpointer = saver();
  let calls = 0;
  const flaky = tool(
    () => {
      if (calls++ === 0) throw new Error("down");
      return "up";
    },
    { name: "flaky", description: "", schema },
  );
  const [charge, durable] = durableTools(checkpointer, [bank.charge, flaky]);
  const graph = new StateGraph(Annotation.Root({ said: Annotation<string> }))
    .addNode(
      "work",
      async () => ({ said: `${await charge.invoke({ cents: 900 })}, ${await durable.invoke({ id: "1" })}` }),
      {
        retryPolicy: { maxAttempts: 2, initialInterval: 1, jitter: false, logWarning: false },
      },
    )
    .addEdge(START, "work")
    .compile({ checkpointer });
  expect(await graph.invoke({ said: "" }, thread)).toEqual({ said: "charged 900, up" });
  expect([bank.charged, calls]).toEqual([["900"], 2]);
});

test("an input that the schema refuses is not recorded as a call", async () => {
  const bank = new Bank();
  const checkpointer = saver();
  const [charge] = durableTools(checkpointer, [bank.charge]);
  const [said] = await twice(checkpointer, () => charge.invoke({ cents: "many" } as never));
  expect(said).toContain("did not match expected schema");
});

test("an output that cannot be stored ends the run without repeating the call", async () => {
  for (const effect of ["irreversible", "idempotent"] as const) {
    const checkpointer = saver();
    let calls = 0;
    const odd = tool(() => (calls++, { close: () => {} }), { name: "odd", description: "", schema });
    const [durable] = durableTools(checkpointer, [odd], { odd: { effect } });
    const graph = graphOf(checkpointer, async () => typeof (await durable.invoke({ id: "1" })));
    for (let time = 0; time < 2; time++)
      await expect(graph.invoke(time ? null : { said: "" }, thread)).rejects.toMatchObject({
        code: "not_serializable",
        subject: 'the output of tool "odd"',
        path: ".close",
      });
    expect(calls).toBe(effect === "irreversible" ? 1 : 2);
  }
});

test("another serializer can store calls", async () => {
  const bank = new Bank();
  const checkpointer = new PersistenceSaver({
    storage: new InMemoryPersistenceStorageProvider(),
    serde: new JsonPlusSerializer(),
  });
  const [charge] = durableTools(checkpointer, [bank.charge]);
  expect(await twice(checkpointer, () => charge.invoke({ cents: 900 }))).toEqual(["charged 900", "charged 900"]);
  expect(bank.charged).toEqual(["900"]);
});

test("a durable tool that another durable tool calls is recorded within that call", async () => {
  const bank = new Bank();
  const checkpointer = saver();
  let fails = true;
  const [charge] = durableTools(checkpointer, [bank.charge]);
  const both = tool(
    async () => {
      const first = await charge.invoke({ cents: 900 });
      if (fails) throw new Error("down");
      return `${first}, ${await charge.invoke({ cents: 900 })}`;
    },
    { name: "both", description: "", schema },
  );
  const [outer] = durableTools(checkpointer, [both], { both: { effect: "none" } });
  const graph = graphOf(
    checkpointer,
    async () => `${await outer.invoke({ id: "1" })}, ${await charge.invoke({ cents: 900 })}`,
  );
  await expect(graph.invoke({ said: "" }, thread)).rejects.toThrow("down");
  fails = false;
  expect(await graph.invoke(null, thread)).toEqual({ said: "charged 900, charged 900, charged 900" });
  expect(bank.charged).toEqual(["900", "900", "900"]);
});

test("nested calls of a recorded call are skipped without affecting other calls", async () => {
  const bank = new Bank();
  const checkpointer = saver();
  const [charge] = durableTools(checkpointer, [bank.charge]);
  const paying = tool(() => charge.invoke({ cents: 900 }), { name: "paying", description: "", schema });
  const [outer] = durableTools(checkpointer, [paying]);
  const graph = graphOf(checkpointer, async () => {
    const said = String(await outer.invoke({ id: "1" }));
    const again = String(await charge.invoke({ cents: 100 }));
    return [said, again, interrupt<string, string>("ok?")].join(", ");
  });
  await graph.invoke({ said: "" }, thread);
  expect(await graph.invoke(new Command({ resume: "yes" }), thread)).toEqual({ said: "charged 900, charged 100, yes" });
  expect(bank.charged).toEqual(["900", "100"]);
});

test("an agent of LangGraph accepts durable tools", async () => {
  const bank = new Bank();
  const checkpointer = saver();
  const llm = fakeModel()
    .respond(calling(["a", 900], ["b", 100]))
    .respond(new AIMessage("done"));
  const agent = createReactAgent({ llm, tools: durableTools(checkpointer, [bank.charge]), checkpointer });
  const { messages } = await agent.invoke({ messages: [{ role: "user", content: "charge" }] }, thread);
  expect(messages.slice(2).map(({ content }) => content)).toEqual(["charged 900", "charged 100", "done"]);
  expect(new Set(bank.keys).size).toBe(2);
});

test("a durable tool outside a node of its thread is refused with advice", async () => {
  const bank = new Bank();
  const checkpointer = saver();
  const [charge] = durableTools(checkpointer, [bank.charge]);
  const outside = (where: string) => ({ code: "tool_outside_thread", toolName: "charge", where });
  await expect(charge.invoke({ cents: 1 })).rejects.toMatchObject(outside("no_graph"));
  const elsewhere = graphOf(saver(), async () => String(await charge.invoke({ cents: 1 })));
  await expect(elsewhere.invoke({ said: "" }, thread)).rejects.toMatchObject(outside("other_checkpointer"));
  const here = graphOf(checkpointer, async () => String(await charge.invoke({ cents: 1 })));
  const exit = here.invoke({ said: "" }, { ...thread, durability: "exit" });
  await expect(exit).rejects.toMatchObject(outside("checkpoint_not_stored"));
  expect(bank.charged).toEqual([]);
  const asynchronous = await here.invoke({ said: "" }, { ...thread, durability: "async" });
  expect(asynchronous).toEqual({ said: "charged 1" });
});
