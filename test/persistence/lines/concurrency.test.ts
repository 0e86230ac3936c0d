import {
  persistence,
  strategy,
  type AgentContext,
  type AnyTool,
  type Graph,
  type PersistenceEvent,
  type PersistenceStorageProvider,
} from "agent-persistence";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { systemClock } from "../../../src/internal/Clock.ts";
import { gate } from "../../agent/gate.ts";
import { called } from "../support/calledAgents.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";
import { World } from "../support/World.ts";
import { cases } from "../../soak/cases.ts";

interface Each {
  readonly items: number;
  readonly concurrency: number;
  /** How often the items ask, in turn. */
  readonly asks: readonly number[];
}

interface Nested {
  readonly outer: Each;
  readonly inner: Each;
  /** What an item of the outer list runs: each item of the inner one in itself or in an agent, or a node. */
  readonly kind: "each" | "agent" | "node";
  /** Requests that are answered while the agent runs, in turn; others are when it waits. */
  readonly live: readonly boolean[];
}

/** Which items work at a moment. */
class Working {
  readonly #at = new Set<string>();
  readonly #most: readonly [outer: number, inner: number];

  constructor({ outer, inner }: Nested) {
    this.#most = [outer.concurrency, inner.concurrency];
  }

  begin(item: string): void {
    this.#at.add(item);
    const outer = [...this.#at].map((at) => at.split(".")[0] ?? "");
    const most = Math.max(...outer.map((at) => outer.filter((each) => each === at).length));
    if (new Set(outer).size > this.#most[0] || most > this.#most[1])
      throw new RangeError(`At once: ${[...this.#at].join(", ")}`);
  }

  end(item: string): void {
    this.#at.delete(item);
  }
}

const numbers = (length: number) => Array.from({ length }, (_, at) => at);

/** Runs items that work, ask and work on. */
async function live(storage: PersistenceStorageProvider, nested: Nested): Promise<void> {
  const { outer, inner, kind } = nested;
  const working = new Working(nested);
  const book = new World().adder("book");
  const work = async (item: string, context: AgentContext) => {
    const [first = 0, second = 0] = item.split(".").map(Number);
    const asks = inner.asks[(first + second) % inner.asks.length] ?? 0;
    working.begin(item);
    await context.tools.call(book, { item });
    for (let ask = 0; ask < asks; ask++) {
      working.end(item);
      await context.requestInput({ prompt: `${item} ${ask}?`, schema: z.boolean() });
      working.begin(item);
      await context.tools.call(book, { item });
    }
    working.end(item);
    return item;
  };
  const innerEach = (graph: Graph<string, string>) => {
    const list = graph.node("list", (item: string) => numbers(inner.items).map((at) => `${item}.${at}`));
    const { concurrency } = inner;
    const all = graph.each("all", graph.node("work", work), { concurrency }, (results) => results.join());
    graph.edge(graph.start, list);
    graph.edge(list, all);
    graph.edge(all, graph.finish);
  };
  const tools: AnyTool[] = [book];
  const callee = called("callee", strategy<string, string>("callee", innerEach), { config: { tools: [book] } });
  if (kind === "agent") tools.push(callee);
  const built = strategy<string, string>("outer", (graph) => {
    const body = {
      each: () => graph.subgraph<string, string>("part", innerEach),
      agent: () => graph.node("part", (item: string, context) => context.tools.call(callee, { topic: item })),
      node: () => graph.node("part", work),
    }[kind]();
    const all = graph.each("outer", body, { concurrency: outer.concurrency }, (results) => results.join());
    graph.edge(graph.start, all, { map: () => numbers(outer.items).map(String) });
    graph.edge(all, graph.finish);
  });
  let opened = 0;
  const answers: Promise<void>[] = [];
  const onEvent = (event: PersistenceEvent) => {
    if (event.type !== "request_opened" || !nested.live[opened++ % nested.live.length]) return;
    answers.push(persistence(agent).answer(event.requestId, true));
  };
  // An answer to a run that is about to end waits for that.
  const agent = durableAgent(built, storage, { tools, maxIterations: 1_000, onEvent, clock: systemClock });
  let result = await agent.run("go");
  while (result.status === "waiting") {
    await Promise.all(answers);
    const open = await persistence(agent).agent("a").getRequests();
    result = await agent.resume({ answers: Object.fromEntries(open.map(({ requestId }) => [requestId, true])) });
  }
  const items = numbers(outer.items).flatMap((at) =>
    kind === "node" ? [`${at}`] : numbers(inner.items).map((each) => `${at}.${each}`),
  );
  expect(result).toMatchObject({ status: "completed", output: items.join() });
}

describe.each(logStorages)("$name: answered branches of each", (storage) => {
  it("continue once fewer than the limit run, without delaying the answer", async () => {
    const opened = (await storage.open())();
    const seen: string[] = [];
    const world = new World();
    const book = world.adder("book");
    const asked = gate<string>();
    const built = strategy<string, string>("s", (graph) => {
      const one = graph.node("one", async (item: number, context: AgentContext) => {
        if (item === 0) {
          const ok = await context.requestInput({ prompt: "go on?", schema: z.boolean() });
          seen.push(`0 goes on: ${ok}`);
          return item;
        }
        await persistence(agent).answer(await asked.opened, true);
        for (const each of [1, 2, 3]) await context.tools.call(book, { item: `${item}.${each}` });
        seen.push(`${item} ends`);
        return item;
      });
      const all = graph.each("all", one, { concurrency: 1 }, (results: readonly number[]) => results.join());
      graph.edge(graph.start, all, { map: () => [0, 1] });
      graph.edge(all, graph.finish);
    });
    const onEvent = (event: PersistenceEvent) => void (event.type === "request_opened" && asked.open(event.requestId));
    const agent = durableAgent(built, opened, { tools: [book], onEvent });
    expect(await agent.run("go")).toMatchObject({ status: "completed", output: "0,1" });
    expect(seen).toEqual(["1 ends", "0 goes on: true"]);
  });

  it("never exceed `concurrency`, however they are nested and answered", async () => {
    const each = fc.record({
      items: fc.integer({ min: 1, max: 4 }),
      concurrency: fc.integer({ min: 1, max: 3 }),
      asks: fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 4 }),
    });
    const properties = fc.record({
      outer: each,
      inner: each,
      kind: fc.constantFrom("each" as const, "agent" as const, "node" as const),
      live: fc.array(fc.boolean(), { minLength: 1, maxLength: 3 }),
    });
    const numRuns = cases(15, 60);
    const lives = async (nested: Nested) => live((await storage.open())(), nested);
    // A run that hangs is a counterexample, too.
    await fc.assert(fc.asyncProperty(properties, lives), { numRuns, timeout: 600_000 });
  });
});
