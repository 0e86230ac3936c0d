import { AIMessage, type BaseMessage, HumanMessage, RemoveMessage } from "@langchain/core/messages";
import {
  Annotation,
  Command,
  END,
  interrupt,
  MemorySaver,
  MessagesAnnotation,
  MessagesDeltaValue,
  Send,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { PersistenceSaver } from "agent-persistence/langgraph";
import { expect, test } from "vitest";

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  found: Annotation<string[]>({ reducer: (a, b) => [...a, ...b].sort(), default: () => [] }),
  notes: Annotation<Record<string, string>>({ reducer: (a, b) => ({ ...a, ...b }), default: () => ({}) }),
});

/** Sends, a subgraph that asks, and a node that removes messages. */
function deskGraph(checkpointer: BaseCheckpointSaver) {
  const asking = new StateGraph(State)
    .addNode("ask", () => ({ messages: [new AIMessage({ id: "asked", content: interrupt<string, string>("ok?") })] }))
    .addEdge(START, "ask")
    .compile();
  return new StateGraph(State)
    .addNode("plan", () => ({ notes: { plan: "p".repeat(60) } }))
    .addNode("find", ({ found }: { found: string[] }) => ({ found, notes: { [found[0]!]: "seen" } }))
    .addNode("asking", asking)
    .addNode("tidy", ({ messages }: { messages: BaseMessage[] }) => ({
      messages: [new RemoveMessage({ id: messages[0]!.id! }), new AIMessage({ id: "done", content: "done" })],
    }))
    .addEdge(START, "plan")
    .addConditionalEdges("plan", () => ["a", "b"].map((each) => new Send("find", { found: [each] })))
    .addEdge("find", "asking")
    .addEdge("asking", "tidy")
    .addEdge("tidy", END)
    .compile({ checkpointer });
}

test("a graph has the same states on MemorySaver and on PersistenceSaver", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  const ours = new PersistenceSaver({ storage });
  const [expected, got] = [await statesOn(new MemorySaver()), await statesOn(ours)];
  expect(got).toEqual(expected);
  await ours[Symbol.asyncDispose]();
  const again = deskGraph(new PersistenceSaver({ storage }));
  expect(await history(again, { configurable: { thread_id: "t" } })).toEqual(expected.history);
});

async function statesOn(saver: BaseCheckpointSaver) {
  const graph = deskGraph(saver);
  const thread = { configurable: { thread_id: "t" } };
  const first = await graph.invoke(
    { messages: [new HumanMessage({ id: "h", content: "hi" })] },
    { ...thread, durability: "sync" },
  );
  const asked = await graph.getState(thread, { subgraphs: true });
  const second = await graph.invoke(new Command({ resume: "yes" }), { ...thread, durability: "async" });
  const third = await graph.invoke(
    { messages: [new HumanMessage({ id: "h2", content: "more" })] },
    { ...thread, durability: "exit" },
  );
  const fourth = await graph.invoke(new Command({ resume: "again" }), thread);
  const states = await history(graph, thread);
  let start;
  for await (const state of graph.getStateHistory(thread)) if (state.next[0] === "plan") start = state.config;
  const replayed = await graph.invoke(null, start!);
  const edited = await graph.updateState(start!, { notes: { edited: "yes" } });
  const branch = await graph.invoke(null, edited);
  return {
    values: [first, second, third, fourth, replayed, branch].map(plain),
    interrupts: asked.tasks.length,
    history: await history(graph, thread),
    states,
  };
}

async function history(graph: ReturnType<typeof deskGraph>, thread: { configurable: { thread_id: string } }) {
  const states = [];
  for await (const { values, next, metadata, tasks } of graph.getStateHistory(thread))
    states.push(
      plain({ values, next, source: metadata?.source, step: metadata?.step, tasks: tasks.map(({ name }) => name) }),
    );
  return states;
}

/** Ids of interrupts are made of ids of checkpoints, which are other ones in each run. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, part: unknown) => (key === "__interrupt__" ? "asked" : part)));
}

test.each(["sync", "async", "exit"] as const)(
  "a delta channel replays to the values of the graph: %s",
  async (durability) => {
    const schema = new StateSchema({ messages: MessagesDeltaValue });
    const build = (checkpointer: BaseCheckpointSaver) =>
      new StateGraph(schema)
        .addNode("answer", ({ messages }) => ({
          messages: [new AIMessage({ id: `a${messages.length}`, content: "a" })],
        }))
        .addEdge(START, "answer")
        .addEdge("answer", END)
        .compile({ checkpointer });
    const thread = { configurable: { thread_id: "t" } };
    const storage = new InMemoryPersistenceStorageProvider();
    for (let turn = 0; turn < 4; turn++) {
      await using saver = new PersistenceSaver({ storage });
      const graph = build(saver);
      await graph.invoke({ messages: [new HumanMessage({ id: `h${turn}`, content: "q" })] }, { ...thread, durability });
      if (turn === 2) await saver.prune("t", { keep: 1 });
    }
    const idsOf = async (saver: PersistenceSaver, config = thread) =>
      ((await build(saver).getState(config)).values as { messages: BaseMessage[] }).messages.map(({ id }) => id);
    await using saver = new PersistenceSaver({ storage });
    const all = ["h0", "a1", "h1", "a3", "h2", "a5", "h3", "a7"];
    expect(await idsOf(saver)).toEqual(all);
    const graph = build(saver);
    const { config } = await graph.getState(thread);
    await graph.updateState(config, { messages: [new HumanMessage({ id: "edit", content: "e" })] });
    expect(await idsOf(saver)).toEqual([...all, "edit"]);
    expect(await idsOf(saver, config as typeof thread)).toEqual(all);
  },
);
