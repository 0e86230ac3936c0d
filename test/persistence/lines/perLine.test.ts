import {
  type AgentContext,
  type AnyTool,
  persistence,
  type PersistenceEvent,
  storageKey,
  strategy,
  type Strategy,
  tool,
  triggers,
} from "agent-persistence";
import { SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { gate } from "../../agent/gate.ts";
import { durableAgent, Fault } from "../support/durableAgent.ts";
import { recordsOf } from "../support/stored.ts";
import { logStorages } from "../support/storages.ts";
import { World } from "../support/World.ts";

type Step = (text: string, context: AgentContext) => string | Promise<string>;

const same: Step = (text) => text;

/** Branches of steps that run one after another, after a first step. */
function chains(chained: Readonly<Record<string, readonly Step[]>>, begin: Step = same): Strategy<string, string> {
  return strategy<string, string>("chains", (graph) => {
    const branches = Object.entries(chained).map(([name, steps]) => [
      name,
      graph.subgraph<string, string>(name, (inner) => {
        const nodes = steps.map((step, at) => inner.node(`s${at}`, step));
        for (const [at, node] of nodes.entries()) inner.edge(nodes[at - 1] ?? inner.start, node);
        inner.edge(nodes.at(-1) ?? inner.start, inner.finish);
      }),
    ]);
    const all = graph.parallel(
      "all",
      Object.fromEntries(branches) as Record<string, ReturnType<typeof graph.subgraph<string, string>>>,
      (results) => JSON.stringify(results),
    );
    const first = graph.node("first", begin);
    graph.edge(graph.start, first);
    graph.edge(first, all);
    graph.edge(all, graph.finish);
  });
}

const say =
  (content: string): Step =>
  (text, { llm }) => {
    llm.append({ role: "user", content });
    return text;
  };

const saved = (events: readonly PersistenceEvent[]) =>
  events.flatMap((event) => (event.type === "checkpoint_saved" ? [[event.branch, event.nodeId, event.trigger]] : []));

describe.each(logStorages)("$name: triggers of branches", (storage) => {
  it("by growth count the values of each branch separately", async () => {
    const opened = await storage.open();
    const events: PersistenceEvent[] = [];
    const [begun, told] = [gate<void>(), gate<void>()];
    const strategyOf = chains({
      small: [
        async (text) => {
          begun.open();
          await told.opened;
          return text;
        },
        say("a little"),
        same,
      ],
      large: [
        async (text, context) => {
          await begun.opened;
          return say("x".repeat(20_000))(text, context);
        },
        same,
      ],
    });
    const agent = durableAgent(strategyOf, opened(), {
      triggers: [triggers.contextDelta({ bytes: 10_000 })],
      onEvent: (event) => {
        events.push(event);
        if (event.type === "checkpoint_saved" && event.branch === "all#large" && event.nodeId === "finish") told.open();
      },
    });
    await expect(agent.run("go")).resolves.toMatchObject({ status: "completed" });
    expect(saved(events).filter(([, , trigger]) => trigger === "context_delta")).toEqual([
      ["all#large", "large/s1", "context_delta"],
    ]);
  });

  it("by time count from the last checkpoint of the branch", async () => {
    const opened = await storage.open();
    const clock = new SimulatedClock();
    const events: PersistenceEvent[] = [];
    const wait: Step = (text) => {
      clock.advance(400);
      return text;
    };
    const strategyOf = chains({ a: [wait, wait, wait, wait, same] });
    const agent = durableAgent(strategyOf, opened(), {
      clock,
      triggers: [triggers.interval({ everyMs: 700 })],
      onEvent: (event) => void events.push(event),
    });
    await agent.run("go");
    expect(saved(events).filter(([, , trigger]) => trigger === "interval")).toEqual([
      ["all#a", "a/s2", "interval"],
      ["all#a", "a/s4", "interval"],
    ]);
  });

  it("that fail or find no change are reported with the branch", async () => {
    const opened = await storage.open();
    const events: PersistenceEvent[] = [];
    const failing = {
      name: "failing",
      priority: "normal",
      isDue: ({ nodeId }: { readonly nodeId: string }) => {
        if (nodeId === "a/s0") throw new RangeError("no");
        return nodeId === "a/s1" && ("unchanged" as const);
      },
    } as const;
    const agent = durableAgent(chains({ a: [same, same, same] }), opened(), {
      triggers: [failing],
      onEvent: (event) => void events.push(event),
    });
    await agent.run("go");
    const of = (kind: PersistenceEvent["type"]) => events.filter((event) => event.type === kind);
    expect(of("trigger_failed")).toMatchObject([{ branch: "all#a", nodeId: "a/s0", reason: "no" }]);
    expect(of("checkpoint_skipped")).toMatchObject([{ branch: "all#a", nodeId: "a/s1", reason: "unchanged" }]);
  });
});

describe.each(logStorages)("$name: trimming of branches", (storage) => {
  it("shortens only the history of the branch that grew", async () => {
    const opened = await storage.open();
    const events: PersistenceEvent[] = [];
    const fault = new Fault();
    const stop: Step = (text) => {
      fault.strike();
      return text;
    };
    const long = Array.from({ length: 6 }, (_, at) => say(`message ${at}`));
    const agent = () =>
      durableAgent(chains({ long: [...long, stop], short: [say("one"), stop] }), opened(), {
        trimming: { messages: 3, summarize: () => "summary" },
        onEvent: (event) => void events.push(event),
      });
    await fault.stops(agent().run("go"));
    const trimmed = events.filter(({ type }) => type === "history_trimmed");
    expect(trimmed.length).toBeGreaterThan(0);
    for (const event of trimmed) expect(event).toMatchObject({ branch: "all#long" });
    const latest = await persistence(agent()).agent("a").getLatestCheckpoint();
    const [trimmedLine, short] = latest?.branches ?? [];
    expect(trimmedLine?.messageHistory[0]).toEqual({ role: "user", content: "summary" });
    expect(short?.messageHistory).toEqual([{ role: "user", content: "one" }]);
    expect(latest?.messageHistory).toEqual([]);
    await expect(agent().resume()).resolves.toMatchObject({ status: "completed" });
  });
});

describe.each(logStorages)("$name: readers of an agent with open branches", (storage) => {
  const key = storageKey("key", z.string());
  const stopped = async () => {
    const opened = await storage.open();
    const world = new World();
    const fault = new Fault();
    const large = "y".repeat(20_000);
    const book = world.adder("book");
    const hang = tool({
      name: "hang",
      description: "",
      inputSchema: z.object({}),
      effect: "irreversible",
      execute: () => fault.strike(),
    });
    const branches = {
      ends: [
        (text, context) => {
          context.storage.set(key, `${large} kept`);
          return say(large)(text, context);
        },
        () => large,
      ],
      stops: [
        (text, context) => {
          context.llm.configure({ tools: [book] });
          return say(`${large} of it`)(text, context);
        },
        async (text, { tools }) => {
          await tools.call(book, { item: "mine" });
          fault.strike();
          return text;
        },
      ],
    } satisfies Readonly<Record<string, readonly Step[]>>;
    const steps = chains(branches, (text, { llm }) => {
      llm.configure({ tools: [hang] });
      return text;
    });
    const agent = (tools: readonly AnyTool[] = [book, hang]) => durableAgent(steps, opened(), { tools });
    await fault.stops(agent().run("go"));
    return { agent, large, of: persistence(agent()).agent("a"), world, hang, opened };
  };

  it("read large values of branches, as does a resume", async () => {
    const { agent, of, large } = await stopped();
    const latest = await of.getLatestCheckpoint();
    expect(latest?.branches).toMatchObject([
      { path: "all#ends", output: large, messageHistory: [{ content: large }] },
      { path: "all#stops", messageHistory: [{ content: `${large} of it` }] },
    ]);
    expect(await of.validateCheckpoint()).toMatchObject({ valid: true, checkpointId: latest?.checkpointId });
    for (const { checkpointId } of await of.getCheckpoints())
      expect(await of.validateCheckpoint(checkpointId)).toMatchObject({ valid: true, checkpointId });
    const result = await agent().resume();
    expect(result).toMatchObject({ output: JSON.stringify({ ends: large, stops: "go" }) });
    expect((await of.getLatestCheckpoint())?.storage).toEqual({ key: `${large} kept` });
  });

  it("report the main line's checkpoint as invalid and name the branch that lost a value", async () => {
    const { of, opened } = await stopped();
    const stored = (await recordsOf(opened())).find(({ kind }) => kind === "storage");
    const [blob = ""] = /blob:[^"]+/.exec(JSON.stringify(stored)) ?? [];
    await opened().log.blobs.delete("a", blob);
    const { valid, structural, integrity } = await of.validateCheckpoint();
    const reason = expect.stringMatching(/^all#ends: .*blob:/) as string;
    expect([valid, structural.schemaValid.ok, integrity.blobsAccessible]).toEqual([false, true, { ok: false, reason }]);
    const [first, , ends, stops] = await of.getCheckpoints();
    expect([ends?.branch, stops?.branch]).toEqual(["all#ends", "all#stops"]);
    for (const other of [first, stops]) expect((await of.validateCheckpoint(other?.checkpointId)).valid).toBe(true);
  });

  it("return the messages of the main line", async () => {
    const { of } = await stopped();
    expect([await of.getMessages(), await of.getMessages({ original: true })]).toEqual([[], []]);
  });

  it("are refused before any change if the agent lacks a tool of an open branch", async () => {
    const { agent, hang, world } = await stopped();
    const before = world.nodes.length;
    await expect(agent([hang]).resume()).rejects.toMatchObject({ code: "strategy_changed" });
    expect(world.nodes.length).toBe(before);
    await expect(agent().resume()).resolves.toMatchObject({ status: "completed" });
  });
});
