import { type AgentContext, type PersistenceEvent, storageKey, strategy } from "agent-persistence";
import { crashAfter } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { falseIfCrash } from "../support/causesOf.ts";
import { gate } from "../../agent/gate.ts";
import { called, chain } from "../support/calledAgents.ts";
import { durableAgent, Fault, Stopped } from "../support/durableAgent.ts";
import { logStorages, storages } from "../support/storages.ts";
import { World } from "../support/World.ts";
import { every } from "../../soak/cases.ts";

const found = storageKey("found", z.array(z.string()));
const last = storageKey("last", z.string());

/** Two branches, one of them a subgraph with two nodes; merge makes a call and keeps what was said. */
function forking(world: World) {
  const book = world.adder("book", "idempotent");
  const step = async (name: string, context: AgentContext) => {
    world.nodes.push(name);
    await context.tools.call(book, { item: name });
    context.llm.append({ role: "user", content: `did ${name}` });
    context.storage.set(found, [...(context.storage.get(found) ?? []), name]);
    return name;
  };
  const both = strategy<string, string>("forking", (graph) => {
    const first = graph.node("first", (text: string, context: AgentContext) => step(`${text} first`, context));
    const a = graph.node("a", (text: string, context: AgentContext) => step(`${text} a`, context));
    const b = graph.subgraph<string, string>("b", (inner) => {
      const one = inner.node("one", (text: string, context: AgentContext) => step(`${text} one`, context));
      const two = inner.node("two", (text: string, context: AgentContext) => step(`${text} two`, context));
      inner.edge(inner.start, one);
      inner.edge(one, two);
      inner.edge(two, inner.finish);
    });
    const all = graph.each(
      "all",
      graph.node("item", (text: string, context: AgentContext) => step(text, context)),
      { key: (text) => text, concurrency: 2 },
      (results, context) => {
        context.storage.set(found, [...(context.storage.get(found) ?? []), ...results]);
        return results.join(", ");
      },
    );
    const joined = graph.parallel("both", { a, b }, async (results, context) => {
      await step("merge", context);
      context.llm.append(...context.branches.a.messages, ...context.branches.b.messages);
      context.storage.set(found, [
        ...(context.branches.a.storage.get(found) ?? []),
        ...(context.branches.b.storage.get(found) ?? []),
      ]);
      context.storage.set(last, results.b);
      return [
        results.a,
        results.b,
        context.llm.messages.map(({ content }) => (typeof content === "string" ? content : "")),
      ]
        .flat()
        .join("; ");
    });
    graph.edge(graph.start, first);
    graph.edge(first, joined);
    graph.edge(joined, all, { map: (text: string) => [`${text.length}`, "x", "y"] });
    graph.edge(all, graph.finish);
  });
  return { both, book };
}

async function undisturbed(): Promise<{ readonly output: unknown; readonly world: World }> {
  const world = new World();
  const { both, book } = forking(world);
  const { NoPersistenceStorageProvider } = await import("agent-persistence");
  const result = await durableAgent(both, new NoPersistenceStorageProvider(), { tools: [book] }).run("go");
  return { output: "output" in result && result.output, world };
}

describe.each(storages)("$name: branches of a durable run", (storage) => {
  it.each([true, false])(
    "ends undisturbed after a crash at any append (automatic checkpoints: %s)",
    async (automatic) => {
      const wanted = await undisturbed();
      for (let saves = 0, isOver = false; !isOver; saves += every(3, 1)) {
        const world = new World();
        const { both, book } = forking(world);
        const opened = await storage.open();
        const options = { tools: [book], automatic };
        const crashed = durableAgent(both, crashAfter(opened(), saves), options);
        isOver = await crashed.run("go", { runId: "r" }).then(() => true, falseIfCrash);
        const nodesBefore = world.nodes.length;
        const result = await durableAgent(both, opened(), options).run("go", { runId: "r" });
        expect(result, `after ${saves} appends`).toMatchObject({ status: "completed", output: wanted.output });
        expect(world.items).toEqual(wanted.world.items);
        if (isOver) expect(world.nodes.length).toBe(nodesBefore);
      }
    },
  );
});

/** A branch that calls an agent, beside one that fails the first time, once the agent has begun: that stops the branch. */
function besideFailure(ask: ReturnType<typeof called>, begun: Promise<unknown>) {
  let failures = 0;
  return strategy<string, string>("stopping", (graph) => {
    const failing = graph.node("failing", async (text: string) => {
      await begun;
      if (failures++ === 0) throw new RangeError("not yet");
      return text;
    });
    const calling = graph.node("calling", (topic: string, { tools }: AgentContext) => tools.call(ask, { topic }));
    const all = graph.parallel("all", { failing, calling }, { onFailure: "stop" }, (results) => results.calling);
    graph.edge(graph.start, all);
    graph.edge(all, graph.finish);
  });
}

describe.each(logStorages)("$name: stopped branches", (storage) => {
  it("stay unjoined at any depth until a resume continues them", async () => {
    const [oneRuns, failed] = [gate(), gate()];
    let failures = 0;
    const built = strategy<string, string>("stopping", (graph) => {
      const failing = graph.node("failing", async (text: string) => {
        await oneRuns.opened;
        if (failures++ === 0) throw new RangeError("not yet");
        return text;
      });
      const deep = graph.subgraph<string, string>("deep", (inner) => {
        const chain = inner.subgraph<string, string>("chain", (within) => {
          const one = within.node("one", async (text: string) => {
            oneRuns.open();
            await failed.opened;
            return `${text} one`;
          });
          const two = within.node("two", (text: string) => `${text} two`);
          within.edge(within.start, one);
          within.edge(one, two);
          within.edge(two, within.finish);
        });
        const both = inner.parallel("both", { chain }, (results) => `(${results.chain})`);
        inner.edge(inner.start, both);
        inner.edge(both, inner.finish);
      });
      const all = graph.parallel("all", { failing, deep }, { onFailure: "stop" }, (results) => results.deep);
      graph.edge(graph.start, all);
      graph.edge(all, graph.finish);
    });
    const opened = await storage.open();
    const onEvent = ({ type }: PersistenceEvent) => void (type === "branch_failed" && failed.open());
    await expect(durableAgent(built, opened(), { onEvent }).run("go")).rejects.toThrow("not yet");
    expect(await durableAgent(built, opened()).resume()).toMatchObject({ output: "(go one two)" });
  });

  it("stop a called agent between two of its nodes until a resume continues it", async () => {
    const [begun, failed] = [gate(), gate()];
    const ask = called(
      "ask",
      chain("asking", {
        one: async (text) => {
          begun.open();
          await failed.opened;
          return `${text} one`;
        },
        two: (text) => `${text} two`,
      }),
    );
    const built = besideFailure(ask, begun.opened);
    const opened = await storage.open();
    const onEvent = ({ type }: PersistenceEvent) => void (type === "branch_failed" && failed.open());
    await expect(durableAgent(built, opened(), { tools: [ask], onEvent }).run("go")).rejects.toThrow("not yet");
    expect(await durableAgent(built, opened(), { tools: [ask] }).resume()).toMatchObject({ output: "go one two" });
  });

  it("end their current node even if a called agent then requests input", async () => {
    const [begun, failed] = [gate(), gate()];
    const ask = called(
      "ask",
      chain("asking", {
        one: async (_text, context) => {
          begun.open();
          await failed.opened;
          return context.requestInput({ prompt: "Which?", schema: z.string() });
        },
      }),
    );
    const built = besideFailure(ask, begun.opened);
    const opened = await storage.open();
    const onEvent = ({ type }: PersistenceEvent) => void (type === "branch_failed" && failed.open());
    await expect(durableAgent(built, opened(), { tools: [ask], onEvent }).run("go")).rejects.toThrow("not yet");
    const agent = durableAgent(built, opened(), { tools: [ask] });
    const waiting = await agent.resume();
    if (waiting.status !== "waiting") throw new Error("It does not wait.");
    const answers = { [waiting.requests[0]?.requestId ?? ""]: "this" };
    expect(await agent.resume({ answers })).toMatchObject({ output: "this" });
  });
});

it.each(storages)("$name: items whose keys change after a crash restart no branch", async (storage) => {
  const [fault, world] = [new Fault(), [] as string[]];
  const opened = await storage.open();
  const paying = (prefix: string) =>
    strategy<string, string>("paying", (graph) => {
      const pay = graph.node("pay", (item: string) => {
        if (item === "b") fault.strike();
        world.push(item);
        return item;
      });
      const all = graph.each("all", pay, { key: (item: string) => prefix + item }, (paid) => paid.join());
      graph.edge(graph.start, all, { map: () => ["a", "b", "c"] });
      graph.edge(all, graph.finish);
    });
  const agent = (prefix: string) => durableAgent(paying(prefix), opened());
  await expect(agent("x").run("go", { runId: "r" })).rejects.toBeInstanceOf(Stopped);
  fault.repair();
  await expect(agent("y").run("go", { runId: "r" })).rejects.toMatchObject({
    code: "branches_changed",
    missing: expect.arrayContaining(["xa"]),
    keys: ["ya", "yb", "yc"],
  });
  expect(world).toEqual(["a", "c"]);
  expect(await agent("x").run("go", { runId: "r" })).toMatchObject({ output: "a,b,c" });
  expect(world.toSorted()).toEqual(["a", "b", "c"]);
});
