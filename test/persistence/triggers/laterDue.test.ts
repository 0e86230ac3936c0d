import {
  type AgentContext,
  type AIAgent,
  type CheckpointTrigger,
  persistence,
  type PersistenceEvent,
  strategy,
  triggers,
} from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { idOf } from "../support/asking.ts";
import { called, chain, type NodeBody } from "../support/calledAgents.ts";
import { durableAgent, type DurableOptions, Fault } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";
import { recordsOf } from "../support/stored.ts";
import { World } from "../support/World.ts";

const everyMs = 60_000;
const places = ["main line", "branch", "sub-agent"] as const;

/** How one process has the agent. */
interface Process extends Pick<DurableOptions, "automatic" | "onEvent"> {
  /** Whether its first node takes so long that a checkpoint is due after it. */
  readonly isSlow: boolean;
}

/** An agent with a line of three nodes: the first books, and the second does what a test says. */
class Office {
  readonly world = new World();
  readonly book = this.world.adder("book", "irreversible");
  readonly #place: (typeof places)[number];
  readonly #second: NodeBody;

  constructor(place: (typeof places)[number], second: (office: Office) => NodeBody) {
    this.#place = place;
    this.#second = second(this);
  }

  agent(
    storage: LogPersistenceStorageProvider,
    { isSlow, automatic = true, onEvent }: Process,
  ): AIAgent<string, string> {
    const clock = new SimulatedClock();
    const line = chain("line", {
      first: async (text, { tools }) => {
        await tools.call(this.book, { item: "first" });
        if (isSlow) clock.advance(everyMs);
        return text;
      },
      second: this.#second,
      third: (text) => text,
    });
    const saved = { clock, triggers: [triggers.interval({ everyMs })] };
    const ask = called("ask", line, {
      config: { tools: [this.book, helper] },
      persistence: { ...saved, enableAutomaticPersistence: automatic },
    });
    const graphs = {
      "main line": () => line,
      branch: () =>
        strategy<string, string>("branches", (graph) => {
          const both = graph.parallel("both", { x: graph.subgraph("x", line) }, ({ x }) => x);
          graph.edge(graph.start, both);
          graph.edge(both, graph.finish);
        }),
      "sub-agent": () => chain("chief", { plan: (topic, { tools }) => tools.call(ask, { topic }) }),
    };
    const tools = [this.book, helper, ask];
    return durableAgent(graphs[this.#place](), storage, { ...saved, tools, automatic, ...(onEvent && { onEvent }) });
  }
}

const askTwice: NodeBody = async (_text, context) => {
  const one = await context.requestInput({ prompt: "one", schema: z.string() });
  return `${one}, ${await context.requestInput({ prompt: "two", schema: z.string() })}`;
};
const helper = called("helper", chain("help", { help: askTwice }));

const everywhere = logStorages.flatMap((storage) => places.map((place) => [storage.name, place, storage] as const));

describe.each(everywhere)("%s, %s: a trigger that becomes due while nodes run again", (_name, place, storage) => {
  /** Books, stops once, and ends. */
  const stopping = (fault: Fault) =>
    new Office(place, ({ book }) => async (_text, { tools }) => {
      await tools.call(book, { item: "second" });
      fault.strike();
      return "done";
    });

  /** Waits until a run stops at the fault, and repairs it; a caller fails with the agent that it calls. */
  async function stops(fault: Fault, run: Promise<unknown>): Promise<void> {
    await expect(run).rejects.toThrow(/stopped$/);
    fault.repair();
  }

  it("does not repeat a finished call, and its checkpoint follows the recorded work", async () => {
    const opened = await storage.open();
    const fault = new Fault();
    const office = stopping(fault);
    await stops(fault, office.agent(opened(), { isSlow: false }).run("go", { runId: "r" }));
    const events: PersistenceEvent[] = [];
    const onEvent = (event: PersistenceEvent) => void events.push(event);
    const again = office.agent(opened(), { isSlow: true, onEvent });
    expect(await again.run("go", { runId: "r" })).toMatchObject({ output: "done" });
    expect(office.world.done).toEqual(["book first", "book second"]);
    const ofLine = events.filter(
      (event) => "trigger" in event && event.nodeId !== "plan" && event.trigger === "interval",
    );
    expect(ofLine).toMatchObject([
      { type: "checkpoint_skipped", reason: "replaying", nodeId: expect.stringMatching(/first$/) as string },
      { type: "checkpoint_saved", nodeId: expect.stringMatching(/third$/) as string },
    ]);
  });

  it("makes a checkpoint if no recorded work follows", async () => {
    const opened = await storage.open();
    const fault = new Fault();
    const office = new Office(place, () => () => fault.strike() ?? "done");
    await stops(fault, office.agent(opened(), { isSlow: false }).run("go", { runId: "r" }));
    const again = office.agent(opened(), { isSlow: true });
    expect(await again.run("go", { runId: "r" })).toMatchObject({ output: "done" });
    const stored = await persistence(again).agent().getCheckpoints();
    expect(
      stored.filter(({ nodeId, trigger }) => nodeId !== "plan" && trigger === "interval").map(({ nodeId }) => nodeId),
    ).toEqual([expect.stringMatching(/second$/)]);
  });

  it("does not repeat a call once checkpoints are automatic", async () => {
    const opened = await storage.open();
    const fault = new Fault();
    const office = stopping(fault);
    await stops(fault, office.agent(opened(), { isSlow: false, automatic: false }).run("go", { runId: "r" }));
    const again = office.agent(opened(), { isSlow: true });
    expect(await again.run("go", { runId: "r" })).toMatchObject({ output: "done" });
    expect(office.world.done).toEqual(["book first", "book second"]);
  });

  it.each([
    ["node", () => askTwice],
    [
      "agent that it calls",
      () =>
        (topic: string, { tools }) =>
          tools.call(helper, { topic }),
    ],
  ] as readonly (readonly [string, () => NodeBody])[])(
    "loses no accepted answer of a %s, and repeats no request",
    async (_asks, second) => {
      const opened = await storage.open();
      const office = new Office(place, second);
      const run = (isSlow: boolean) => office.agent(opened(), { isSlow }).run("go", { runId: "r" });
      const answer = (requestId: string, given: string) =>
        persistence(office.agent(opened(), { isSlow: false }))
          .agent()
          .answer(requestId, given);
      await answer(idOf(await run(false)), "1");
      await answer(idOf(await run(true)), "2");
      expect(await run(true)).toMatchObject({ output: "1, 2" });
      const requests = (await recordsOf(opened())).filter(({ kind }) => kind === "request");
      expect(new Set(requests.map((record) => (record as unknown as { request: string }).request)).size).toBe(2);
      expect(office.world.done).toEqual(["book first"]);
    },
  );
});

describe.each(logStorages)("$name: a node that matches no edge when it runs again", (storage) => {
  it("does not repeat a call of the next node once the edge is restored", async () => {
    const opened = await storage.open();
    const world = new World();
    const book = world.adder("book", "irreversible");
    const fault = new Fault();
    const never: CheckpointTrigger = { name: "never", priority: "normal", isDue: () => false };
    const run = (isLinked: boolean) => {
      const graph = strategy<string, string>("linked", (g) => {
        const first = g.node("first", (text: string) => text);
        const second = g.node("second", async (_text: string, { tools }: AgentContext) => {
          await tools.call(book, { item: "second" });
          fault.strike();
          return "done";
        });
        g.edge(g.start, first);
        g.edge(first, second, { when: () => isLinked });
        g.edge(second, g.finish);
      });
      return durableAgent(graph, opened(), { tools: [book], triggers: [never] }).run("go", { runId: "r" });
    };
    await fault.stops(run(true));
    await expect(run(false)).rejects.toMatchObject({ code: "no_matching_edge" });
    expect(await run(true)).toMatchObject({ output: "done" });
    expect(world.done).toEqual(["book second"]);
  });
});
