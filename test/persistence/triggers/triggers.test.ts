import {
  persistence,
  RollbackToolRegistry,
  strategy,
  tool,
  triggers,
  type AgentContext,
  type CheckpointTrigger,
  type PersistenceEvent,
  type PersistenceStorageProvider,
} from "agent-persistence";
import { crashAfter, SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import type { TriggerMoment } from "../../../src/persistence/config/triggers.ts";
import { dueTriggers } from "../../../src/persistence/saving/saveIfDue.ts";
import { asking, idOf } from "../support/asking.ts";
import { chain } from "../support/calledAgents.ts";
import { durableAgent, Fault } from "../support/durableAgent.ts";
import { checkpointsOf } from "../support/stored.ts";
import { logStorages, storages } from "../support/storages.ts";
import { World } from "../support/World.ts";

const minute = 60_000;

/** An agent that does everything triggers look at: `prepare`, then a sub-agent of one node, then `talk`. */
function office(world: World, clock: SimulatedClock) {
  const tools = (["dangerous", "externalApi", "modifiesFiles"] as const).map((declared) =>
    tool({
      name: declared,
      description: "",
      inputSchema: z.object({}),
      effect: "irreversible",
      [declared]: true,
      execute: () => void world.done.push(declared),
    }),
  );
  const graph = strategy<string, string>("office", (g) => {
    const prepare = g.node("prepare", async (input: string, context: AgentContext) => {
      for (const each of tools) await context.tools.call(each, {});
      clock.advance(3 * minute);
      return input;
    });
    const research = g.subgraph<string, string>("research", (inner) => {
      const read = inner.node("read", (input: string, context) => {
        context.llm.append({ role: "user", content: "x".repeat(11_000) });
        clock.advance(3 * minute);
        return input;
      });
      inner.edge(inner.start, read);
      inner.edge(read, inner.finish);
    });
    const talk = g.node("talk", (_input: string, context) => context.requestInput({ prompt: "?", schema: z.string() }));
    const end = g.node("end", (text: string) => text);
    g.edge(g.start, prepare);
    g.edge(prepare, research);
    g.edge(research, talk);
    g.edge(talk, end);
    g.edge(end, g.finish);
  });
  return { graph, tools };
}

const ready: readonly (readonly [CheckpointTrigger, readonly string[]])[] = [
  [triggers.afterNode(), ["research/read", "talk", "end"]],
  [triggers.afterAgentCompletion(), ["talk: after_agent_completion"]],
  [triggers.beforeDangerousOperation(), ["prepare: before_dangerous_operation"]],
  [triggers.beforeExternalApiCall(), ["prepare: before_external_api_call"]],
  [triggers.afterFileModification(), ["prepare: after_file_modification"]],
  [triggers.afterUserInteraction(), ["talk: after_user_interaction"]],
  [triggers.interval(), ["talk: interval"]],
  [triggers.interval({ everyMs: 3 * minute }), ["research/read: interval", "talk: interval"]],
  [triggers.contextDelta(), ["talk: context_delta"]],
  [triggers.contextDelta({ bytes: 100_000 }), []],
];

describe.each(logStorages)("$name: a single trigger", (storage) => {
  it.each(ready)("makes exactly the expected checkpoints: $name", async (trigger, expected) => {
    const opened = await storage.open();
    const clock = new SimulatedClock();
    const world = new World();
    const { graph, tools } = office(world, clock);
    const agent = () => durableAgent(graph, opened(), { tools, clock, triggers: [trigger] });
    const request = idOf(await agent().run("go"));
    expect(await agent().resume({ answers: { [request]: "fine" } })).toMatchObject({ output: "fine" });
    const made = (await checkpointsOf(agent())).map(({ nodeId, trigger: by }) => (by ? `${nodeId}: ${by}` : nodeId));
    expect(made).toEqual(["prepare", ...expected, "finish"]);
    expect(world.done).toEqual(["dangerous", "externalApi", "modifiesFiles"]);
  });

  it.each(ready)("is enough to continue after a crash at any save: $name", async (trigger) => {
    for (let saves = 1; saves < 12; saves += 2) {
      const opened = await storage.open();
      const clock = new SimulatedClock();
      const world = new World();
      const { graph, tools } = office(world, clock);
      const options = { tools, clock, triggers: [trigger] };
      const first = await durableAgent(graph, crashAfter(opened(), saves), options)
        .run("go", { runId: "r" })
        .catch(() => undefined);
      const agent = durableAgent(graph, opened(), { ...options, onToolCallInDoubt: "retry" });
      const waiting = first ?? (await agent.run("go", { runId: "r" }));
      expect(await agent.resume({ answers: { [idOf(waiting)]: "fine" } })).toMatchObject({ output: "fine" });
      expect(new Set(world.done)).toEqual(new Set(["dangerous", "externalApi", "modifiesFiles"]));
    }
  });
});

describe.each(storages)("$name: triggers", (storage) => {
  const steps = (count: number) =>
    strategy<string, string>("steps", (g) => {
      const nodes = Array.from({ length: count }, (_, at) =>
        g.node(`n${at}`, (input: string, context: AgentContext) => {
          context.llm.append({ role: "user", content: `${input}${at}` });
          return `${input}${at}`;
        }),
      );
      [g.start, ...nodes].forEach((from, at) => g.edge(from, nodes[at] ?? g.finish));
    });

  it("that a user writes take a few lines and keep the whole state", async () => {
    const opened = await storage.open();
    let nodes = 0;
    const everyThird: CheckpointTrigger = {
      name: "every_third",
      priority: "normal",
      isDue: ({ kind }) => kind === "node_completed" && ++nodes % 3 === 0,
    };
    const agent = durableAgent(steps(7), opened(), { triggers: [everyThird] });
    expect(await agent.run("")).toMatchObject({ output: "0123456" });
    const stored = await checkpointsOf(agent);
    expect(stored.map(({ nodeId }) => nodeId)).toEqual(["n0", "n3", "n6", "finish"]);
    expect(stored.map(({ trigger }) => trigger)).toEqual([undefined, "every_third", "every_third", undefined]);
    expect(stored.map(({ messageHistory }) => messageHistory.length)).toEqual([0, 3, 6, 7]);
    expect(stored.map(({ iteration }) => iteration)).toEqual([0, 3, 6, 7]);
  });

  it("that are due together make one checkpoint, named after the most important trigger", async () => {
    const opened = await storage.open();
    const events: PersistenceEvent[] = [];
    const named = (name: string, priority: CheckpointTrigger["priority"]) => ({ name, priority, isDue: () => true });
    const triggers = [named("later", "normal"), named("first", "critical"), named("also", "high")];
    await durableAgent(steps(2), opened(), { triggers, onEvent: (event) => void events.push(event) }).run("");
    expect(events.filter(({ type }) => type.startsWith("checkpoint"))).toMatchObject([
      { type: "checkpoint_saved", trigger: "run_started" },
      { type: "checkpoint_skipped", trigger: "also", reason: "merged", nodeId: "n0" },
      { type: "checkpoint_skipped", trigger: "later", reason: "merged", nodeId: "n0" },
      { type: "checkpoint_saved", trigger: "first", nodeId: "n1" },
      { type: "checkpoint_saved", trigger: "run_ended" },
    ]);
  });

  it("that throw are reported and lose no checkpoint", async () => {
    const opened = await storage.open();
    const events: PersistenceEvent[] = [];
    const broken: CheckpointTrigger = {
      name: "broken",
      priority: "normal",
      isDue: () => {
        throw new RangeError("no idea");
      },
    };
    const options = { triggers: [broken], onEvent: (event: PersistenceEvent) => void events.push(event) };
    const agent = durableAgent(steps(2), opened(), options);
    expect(await agent.run("")).toMatchObject({ output: "01" });
    expect(events).toContainEqual(
      expect.objectContaining({ type: "trigger_failed", trigger: "broken", nodeId: "n0", reason: "no idea" }),
    );
    expect((await checkpointsOf(agent)).map(({ nodeId }) => nodeId)).toEqual(["n0", "n1", "finish"]);
  });

  it("that throw without a listener become a process warning", async () => {
    const opened = await storage.open();
    const emitWarning = vi.spyOn(process, "emitWarning").mockReturnValue(undefined);
    const broken = (): never => {
      throw new RangeError("no idea");
    };
    await durableAgent(steps(2), opened(), {
      triggers: [{ name: "broken", priority: "high", isDue: broken }],
    }).run("");
    expect(emitWarning.mock.calls[0]).toEqual([
      'The trigger "broken" failed for agent "a": no idea',
      { type: "AgentPersistenceWarning", code: "trigger_failed" },
    ]);
    emitWarning.mockRestore();
  });

  it("are not called if automatic persistence is off", async () => {
    const opened = await storage.open();
    const agent = durableAgent(steps(2), opened(), { automatic: false, triggers: [triggers.afterNode()] });
    await agent.run("");
    expect((await checkpointsOf(agent)).map(({ nodeId }) => nodeId)).toEqual(["finish"]);
  });
});

describe.each(logStorages)("$name: the state that triggers see", (storage) => {
  /** Nodes that only give back an output and set progress. */
  const chain = (count: number, clock: SimulatedClock, outputOf: (at: number) => string) =>
    strategy<string, string>("chain", (g) => {
      const nodes = Array.from({ length: count }, (_, at) =>
        g.node(`n${at}`, (_input: string, context: AgentContext) => {
          clock.advance(6 * minute);
          context.setProgress(at);
          return outputOf(at);
        }),
      );
      [g.start, ...nodes].forEach((from, at) => g.edge(from, nodes[at] ?? g.finish));
    });

  it("changes with each node output, even an equal output", async () => {
    const opened = await storage.open();
    const clock = new SimulatedClock();
    const graph = chain(4, clock, (at) => (at < 2 ? `output ${at}` : "the same"));
    const agent = durableAgent(graph, opened(), { clock, triggers: [triggers.interval()] });
    await agent.run("go");
    const made = (await checkpointsOf(agent)).map(({ nodeId, trigger, progress }) => [nodeId, trigger, progress]);
    expect(made).toEqual([
      ["n0", undefined, undefined],
      ["n1", "interval", 0],
      ["n2", "interval", 1],
      ["n3", "interval", 2],
      ["finish", undefined, 3],
    ]);
  });

  it("grows with each output once, and outputs that are messages count with the history", async () => {
    const opened = await storage.open();
    const clock = new SimulatedClock();
    const graph = chain(4, clock, (at) => (at === 1 ? "short" : "x".repeat(100_000)));
    const agent = durableAgent(graph, opened(), { clock, triggers: [triggers.contextDelta()] });
    await agent.run("go");
    expect((await checkpointsOf(agent)).map(({ nodeId }) => nodeId)).toEqual(["n0", "n1", "n3", "finish"]);
    const grown: number[] = [];
    const watching: CheckpointTrigger = {
      name: "watching",
      priority: "normal",
      isDue: ({ grownBytes }) => grown.push(grownBytes) === 0,
    };
    const said = strategy<string, string>("said", (g) => {
      const say = g.node("say", (text: string, context: AgentContext) => {
        context.llm.append({ role: "user", content: text });
        return context.llm.messages.at(-1);
      });
      const end = g.node("end", () => "end");
      g.edge(g.start, say);
      g.edge(say, end);
      g.edge(end, g.finish);
    });
    await durableAgent(said, (await storage.open())(), { triggers: [watching] }).run("x".repeat(1_000));
    expect(grown[0]).toBeGreaterThan(1_000);
    expect(grown[0]).toBeLessThan(1_500);
  });

  it("counts progress within a node, and no progress in a node without changes", async () => {
    const opened = await storage.open();
    const clock = new SimulatedClock();
    const events: PersistenceEvent[] = [];
    const look = tool({
      name: "look",
      description: "",
      inputSchema: z.object({}),
      effect: "none",
      execute: () => undefined,
    });
    const graph = asking(async (_input, context) => {
      clock.advance(6 * minute);
      await context.tools.call(look, {});
      clock.advance(6 * minute);
      context.setProgress(50);
      await context.tools.call(look, {});
      return "done";
    });
    const onEvent = (event: PersistenceEvent) => void events.push(event);
    const agent = durableAgent(graph, opened(), { tools: [look], clock, triggers: [triggers.interval()], onEvent });
    await agent.run("go");
    expect(events).toContainEqual(expect.objectContaining({ type: "checkpoint_skipped", reason: "unchanged" }));
    expect((await checkpointsOf(agent)).find(({ progress }) => progress === 50)).toMatchObject({
      nodeId: "ask",
      trigger: "interval",
    });
  });

  it("includes possible changes of files by a tool that fails", async () => {
    const opened = await storage.open();
    const moments: unknown[] = [];
    const watching: CheckpointTrigger = {
      name: "watching",
      priority: "normal",
      isDue: (moment) => moment.kind === "tool_call_completed" && moments.push(moment.failed) === 0,
    };
    const spoil = tool({
      name: "spoil",
      description: "",
      inputSchema: z.object({}),
      modifiesFiles: true,
      execute: (): string => {
        throw new Error("half of it was written");
      },
    });
    const graph = asking(async (_input, context) => {
      await expect(context.tools.call(spoil, {})).rejects.toMatchObject({ code: "tool_failed" });
      return "done";
    });
    const installed = [triggers.afterFileModification(), watching];
    const agent = durableAgent(graph, opened(), { tools: [spoil], triggers: installed });
    await agent.run("go");
    expect((await checkpointsOf(agent)).map(({ trigger }) => trigger)).toContain("after_file_modification");
    expect(moments).toEqual([true]);
  });
});

describe.each(storages)("$name: subgraphs", (storage) => {
  it("belong to the agent, and their node path includes the subgraphs", async () => {
    const opened = await storage.open();
    const graph = strategy<string, string>("s", (g) => {
      const plan = g.node("plan", (input: string) => input);
      const reviewer = g.subgraph<string, string>("reviewer", (inner) => {
        const reader = inner.subgraph<string, string>("reader", (deep) => {
          const read = deep.node("read", (input: string) => input);
          deep.edge(deep.start, read);
          deep.edge(read, deep.finish);
        });
        const judge = inner.node("judge", (input: string) => input);
        inner.edge(inner.start, reader);
        inner.edge(reader, judge);
        inner.edge(judge, inner.finish);
      });
      g.edge(g.start, plan);
      g.edge(plan, reviewer);
      g.edge(reviewer, g.finish);
    });
    const agent = durableAgent(graph, opened());
    await agent.run("go");
    expect((await checkpointsOf(agent)).map(({ nodeId, agentPath }) => [nodeId, agentPath])).toEqual([
      ["plan", []],
      ["reviewer/reader/read", []],
      ["reviewer/judge", []],
      ["finish", []],
    ]);
  });
});

describe.each(logStorages)("$name: a critical trigger", (storage) => {
  it("saves its checkpoint before the operation, which does not happen if the storage fails", async () => {
    const opened = await storage.open();
    const world = new World();
    const { graph, tools } = office(world, new SimulatedClock());
    const options = { tools, triggers: [triggers.beforeDangerousOperation()] };
    await expect(durableAgent(graph, crashAfter(opened(), 1), options).run("go")).rejects.toMatchObject({
      name: "SimulatedCrashError",
    });
    expect(world.done).toEqual([]);
    const again = await storage.open();
    await durableAgent(graph, crashAfter(again(), 2), options)
      .run("go")
      .catch(() => undefined);
    expect(world.done).toEqual([]);
    expect((await checkpointsOf(durableAgent(graph, again(), options))).at(-1)?.trigger).toBe(
      "before_dangerous_operation",
    );
  });

  it("accepts a later checkpoint that the node has requested", async () => {
    const opened = await storage.open();
    const events: PersistenceEvent[] = [];
    const danger = tool({
      name: "danger",
      description: "",
      inputSchema: z.object({}),
      dangerous: true,
      execute: () => "done",
    });
    const graph = asking(async (_input, context) => {
      await persistence(context).createCheckpoint({ nodeId: "tell", lastInput: "saved" });
      return context.tools.call(danger, {});
    });
    const installed = [triggers.beforeDangerousOperation()];
    const options = {
      tools: [danger],
      triggers: installed,
      onEvent: (event: PersistenceEvent) => void events.push(event),
    };
    expect(await durableAgent(graph, opened(), options).run("go")).toMatchObject({ output: "done" });
    expect(events).toContainEqual(
      expect.objectContaining({ type: "checkpoint_skipped", reason: "superseded", nodeId: "ask" }),
    );
  });
});

describe.each(logStorages)("$name: a rollback to the latest checkpoint", (storage) => {
  const made = [triggers.contextDelta({ bytes: 1 }), triggers.afterFileModification()];

  it.each([
    ["in the node", "a rollback by the node"],
    ["in the node before a crash", "a rollback by the node"],
    ["in the node before a crash", "a rollback from outside"],
  ])("reverts the calls of a node despite a checkpoint that a trigger made %s, in %s", async (at, by) => {
    const opened = await storage.open();
    const world = new World();
    const fault = new Fault();
    if (at === "in the node") fault.repair();
    const book = { ...world.adder("book"), modifiesFiles: true };
    let isRolledBack = by === "a rollback from outside";
    const graph = chain("tries", {
      first: (text) => text,
      second: async (text, context) => {
        if (world.nodes.push("second") > 4) throw new RangeError("the node repeats forever");
        await context.tools.call(book, { item: "room" });
        fault.strike();
        if (isRolledBack) return text;
        isRolledBack = true;
        return (await persistence(context).rollbackToLatestCheckpoint()) as never;
      },
    });
    const registry = new RollbackToolRegistry().registerRollback(book, ({ item }, { toolCallId }) =>
      world.remove(toolCallId, item),
    );
    const options = { tools: [book], registry, triggers: [triggers.afterNode(), ...made] };
    const agent = () => durableAgent(graph, opened(), options);
    if (at !== "in the node") await fault.stops(agent().run("go"));
    expect((await checkpointsOf(agent())).at(-1)?.trigger).toBe(
      at === "in the node" ? undefined : "after_file_modification",
    );
    if (by === "a rollback from outside") await persistence(agent()).agent("a").rollbackToLatestCheckpoint();
    expect(await agent().run("go")).toMatchObject({ output: "go" });
    expect(world.done).toEqual(["book room", "undo room", "book room"]);
  });
});

describe.each(logStorages)("$name: an interrupted rollback to the latest checkpoint", (storage) => {
  // The plan, the start of the inverse, its end and the end of the rollback: four saves.
  it.each([1, 2, 3])("has the same target when it is repeated after %i saves", async (saves) => {
    const opened = await storage.open();
    const [world, fault] = [new World(), new Fault()];
    const book = { ...world.adder("book"), modifiesFiles: true };
    const graph = chain("books", {
      first: async (text, { tools }) => {
        await tools.call(book, { item: "first" });
        return text;
      },
      second: async (text, { tools }) => {
        await tools.call(book, { item: "second" });
        fault.strike();
        return text;
      },
    });
    const registry = new RollbackToolRegistry().registerRollback(
      book,
      ({ item }, { toolCallId }) => world.remove(toolCallId, item),
      { effect: "idempotent" },
    );
    const options = { tools: [book], registry, triggers: [triggers.afterFileModification()] };
    const agent = (at: PersistenceStorageProvider = opened()) => durableAgent(graph, at, options);
    await fault.stops(agent().run("go"));
    const roll = (at?: PersistenceStorageProvider) => persistence(agent(at)).agent("a").rollbackToLatestCheckpoint();
    await expect(roll(crashAfter(opened(), saves))).rejects.toMatchObject({ code: "simulated_crash" });
    await roll();
    expect(world.items).toEqual(["first"]);
  });
});

describe("the decision of a trigger", () => {
  const moment = (facts: Partial<TriggerMoment>): TriggerMoment =>
    ({
      kind: "node_completed",
      nodeId: "n",
      left: [],
      elapsedMs: 0,
      changed: false,
      grownBytes: 0,
      ...facts,
    }) as TriggerMoment;

  it.each([
    [triggers.interval(), { elapsedMs: 5 * minute - 1, changed: true }, false],
    [triggers.interval(), { elapsedMs: 5 * minute, changed: true }, true],
    [triggers.interval(), { elapsedMs: 5 * minute, changed: false }, "unchanged"],
    [triggers.interval({ everyMs: 10 }), { elapsedMs: 10, changed: true }, true],
    [triggers.contextDelta(), { grownBytes: 10 * 1_024 }, false],
    [triggers.contextDelta(), { grownBytes: 10 * 1_024 + 1 }, true],
    [triggers.afterAgentCompletion(), { left: [] }, false],
    [triggers.afterAgentCompletion(), { left: ["a/b", "a"] }, true],
  ] as const)("for %o at %o: %s", (trigger, facts, expected) => {
    expect(trigger.isDue(moment(facts as Partial<TriggerMoment>))).toBe(expected);
  });

  it("distinguishes triggers that are due from those that are due only after a change", () => {
    const installed = [triggers.interval(), triggers.afterNode()];
    expect(dueTriggers(installed, moment({ elapsedMs: 5 * minute }))).toEqual({
      due: installed[1],
      merged: [],
      unchanged: [installed[0]],
      failed: [],
    });
  });
});
