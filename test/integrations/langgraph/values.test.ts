import { Document } from "@langchain/core/documents";
import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  HumanMessageChunk,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { JsonPlusSerializer, MemorySaver } from "@langchain/langgraph-checkpoint";
import { Command, Overwrite, Send } from "@langchain/langgraph";
import { expect, test } from "vitest";
import { NotSerializableError, registerClass } from "../../../src/index.ts";
import { UnreadableValueError } from "../../../src/errors.ts";
import {
  GraphSerializer,
  decodeGraphValue,
  encodeGraphValue,
} from "../../../src/integrations/langgraph/values/GraphSerializer.ts";
import { SavedThread } from "./savedThread.ts";

class Money {
  constructor(readonly cents: number) {}
}
registerClass("test.langgraph.Money", Money);

const messages = [
  new HumanMessage({ id: "h", content: [{ type: "text", text: "hi" }], additional_kwargs: { at: new Date(5) } }),
  new AIMessage({ content: "", tool_calls: [{ id: "c", name: "find", args: { deep: [1, { a: null }] } }] }),
  new ToolMessage({ content: "found", tool_call_id: "c", artifact: { rows: 3 } }),
  new RemoveMessage({ id: "h" }),
];

const rich = {
  date: new Date(7),
  map: new Map([["m", new Set([messages[0]])]]),
  big: 12n,
  bytes: new Uint8Array([1, 2, 255]),
  url: new URL("https://example.com/a"),
  pattern: /a+/gi,
  nothing: undefined,
  odd: [Number.NaN, -0, Infinity],
  document: new Document({ pageContent: "text", metadata: { page: 1 } }),
  money: new Money(900),
  tagged: { $: "date", v: 5, f: { $: "lc:AIMessage" } },
  blob: { $blob: ["x", 5] },
  ["__proto__x"]: JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}') as unknown,
};

test("stored values read back equal and with their classes", async () => {
  const thread = new SavedThread();
  const stored = await thread.put(undefined, { messages, rich, text: "x".repeat(20_000) });
  await thread.saver.putWrites(stored, [["error", new TypeError("bad")]], "task");
  const again = new SavedThread({ storage: thread.storage });
  for (const { saver } of [thread, again]) {
    const tuple = await saver.getTuple(stored);
    expect(tuple?.checkpoint.channel_values).toEqual({ messages, rich, text: "x".repeat(20_000) });
    const [, , error] = tuple!.pendingWrites![0]!;
    expect(error).toBeInstanceOf(Error);
    expect(String(error)).toBe("TypeError: bad");
    const values = tuple!.checkpoint.channel_values as { messages: unknown[]; rich: typeof rich };
    expect(values.messages.map((message) => (message as object).constructor.name)).toEqual(
      messages.map((message) => message.constructor.name),
    );
    expect(values.rich.money).toBeInstanceOf(Money);
    expect(Object.keys(Object.prototype)).toEqual([]);
  }
});

test("a stored message omits values that its class recreates and restores all others", () => {
  const call = { id: "c", name: "find", args: { a: 1 } };
  const raw = { tool_calls: [{ id: "c", type: "function" as const, function: { name: "find", arguments: "{}" } }] };
  const given = [
    new AIMessage({ id: "a", content: "hi" }),
    new AIMessage("hi"),
    new AIMessage({ content: "", tool_calls: [call], response_metadata: { model: "m" } }),
    new AIMessage({ content: "", tool_calls: [call], additional_kwargs: raw }),
    new AIMessage({ content: "", invalid_tool_calls: [{ name: "find", error: "no JSON" }] }),
    // Calls that were taken away must not be made of the provider's answer again.
    Object.assign(new AIMessage({ content: "", tool_calls: [call], additional_kwargs: raw }), { tool_calls: [] }),
    new AIMessageChunk({ content: "", tool_calls: [call], tool_call_chunks: [] }),
    new AIMessageChunk({ content: "h", tool_call_chunks: [{ id: "c", name: "find", args: "{", index: 0 }] }),
    new HumanMessage({ content: "hi", additional_kwargs: { at: 5 } }),
    new HumanMessageChunk("hi"),
    new SystemMessage("hi"),
    new ToolMessage({ content: "found", tool_call_id: "c" }),
    new FunctionMessage({ name: "find", content: "found" }),
    new ChatMessage("hi", "judge"),
    new RemoveMessage({ id: "a" }),
  ];
  for (const message of given) {
    const restored = decodeGraphValue(encodeGraphValue(message, "it")) as BaseMessage;
    expect(restored.constructor).toBe(message.constructor);
    expect(ownFields(restored)).toStrictEqual(ownFields(message));
    expect(JSON.stringify(restored)).toBe(JSON.stringify(message));
  }
  expect(encodeGraphValue(given[0], "it")).toEqual({ $: "lc:AIMessage", f: { id: "a", content: "hi" } });
});

/** All but what the constructor was given. */
function ownFields(message: BaseMessage): readonly (readonly [string, unknown])[] {
  return Object.entries(message).filter(([field]) => field !== "lc_kwargs");
}

test("stored messages equal those of MemorySaver", async () => {
  const memory = new MemorySaver();
  const thread = new SavedThread();
  const plain = messages.slice(1);
  const config = { configurable: { thread_id: "t", checkpoint_ns: "" } };
  const saved = await thread.put(undefined, { messages: plain });
  const tuple = (await thread.saver.getTuple(saved))!;
  const theirs = await memory.put(
    config,
    { ...tuple.checkpoint, channel_values: { messages: plain } },
    tuple.metadata!,
  );
  expect(JSON.stringify(tuple.checkpoint)).toBe(JSON.stringify((await memory.getTuple(theirs))!.checkpoint));
});

test("Send, Overwrite and Command are stored in the form that LangGraph accepts", async () => {
  const thread = new SavedThread();
  const root = await thread.put(undefined, {});
  await thread.saver.putWrites(
    root,
    [
      ["__pregel_tasks", new Send("node", { a: 1 })],
      ["a", new Overwrite([1])],
      ["__return__", new Command({ graph: Command.PARENT, update: { a: 1 }, goto: new Send("node", { b: 2 }) })],
      ["__pregel_tasks", new Send("node", new Command({ resume: "yes" }))],
    ],
    "task",
  );
  const { pendingWrites } = (await thread.saver.getTuple(root))!;
  expect(pendingWrites?.map(([, , value]) => value)).toEqual([
    { node: "node", args: { a: 1 } },
    { __overwrite__: [1] },
    { lg_name: "Command", graph: "__parent__", update: { a: 1 }, goto: [{ node: "node", args: { b: 2 } }] },
    { node: "node", args: { lg_name: "Command", resume: "yes", goto: [] } },
  ]);
});

test.each([
  ["a function", { deep: [() => 1] }, 'channel "a" of checkpoint'],
  ["an unknown class", { money: new (class Other {})() }, ".money"],
  ["a symbol", Symbol("s"), "is a symbol"],
  ["an invalid date", [new Date(Number.NaN)], "is an invalid date"],
  ["a bigint of 10,001 digits", 10n ** 10_000n, "more than 10000 digits"],
])("%s is refused before a write", async (_what, value, said) => {
  const thread = new SavedThread();
  const refused = await thread.put(undefined, { a: value }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(NotSerializableError);
  expect(String(refused)).toMatch(said === ".money" ? "is an instance of Other" : said);
  expect(await thread.saver.getTuple(thread.config)).toBeUndefined();
});

test("a value that contains itself is refused", async () => {
  const loop: Record<string, unknown> = {};
  loop["self"] = loop;
  await expect(new SavedThread().put(undefined, { loop })).rejects.toThrow("refers to something that contains it");
});

test("another serializer can be used, and its writes stay in order", async () => {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  class Slow extends JsonPlusSerializer {
    override async dumpsTyped(value: unknown): Promise<[string, Uint8Array]> {
      const dumped = await super.dumpsTyped(value);
      if (value === "slow") await held;
      return dumped;
    }
  }
  const thread = new SavedThread({ serde: new Slow() });
  const root = await thread.put(undefined, { messages: messages.slice(1, 3) });
  const slow = thread.put(root, { a: "slow" });
  const fast = thread.put(root, { a: "fast" });
  release();
  await Promise.all([slow, fast]);
  expect(await thread.values(undefined)).toEqual({ a: "fast" });
  expect(await thread.values(root)).toEqual({ messages: messages.slice(1, 3) });
  await expect(new SavedThread({ storage: thread.storage }).saver.getTuple(root)).resolves.toBeDefined();
});

test("hostile data is refused when it is read", async () => {
  const serializer = new GraphSerializer();
  for (const text of [
    '{"$":"lc:RunnableLambda","f":{}}',
    '{"$":"constructor"}',
    '{"$":"class","v":"Nobody","f":{}}',
    '{"$":"regexp","v":["(",""]}',
    '{"$":5}',
    `{"$":"bigint","v":"${"9".repeat(10_001)}"}`,
    "{",
  ])
    await expect(serializer.loadsTyped("graph", text)).rejects.toBeInstanceOf(UnreadableValueError);
  await expect(serializer.loadsTyped("json", "1")).rejects.toBeInstanceOf(UnreadableValueError);
});
