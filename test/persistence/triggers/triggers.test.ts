import {
  strategy,
  tool,
  triggers,
  type AgentContext,
  type CheckpointTrigger,
  type PersistenceEvent,
} from "agent-persistence";
import { crashAfter, SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { dueTriggers } from "../../../src/persistence/triggers/dueTriggers.ts";
import type { TriggerMoment } from "../../../src/persistence/triggers/CheckpointTrigger.ts";
import { asking, idOf } from "../support/asking.ts";
import { durableAgent } from "../support/durableAgent.ts";
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

describe.each(logStorages)("$name: single triggers", (storage) => {
  it.each(ready)(
    "a single trigger makes exactly the checkpoints that are expected: $name",
    async (trigger, expected) => {
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
    },
  );

  it.each(ready)("a single trigger is enough to continue from after a crash at any save: $name", async (trigger) => {
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

  it("triggers of your own take a few lines, and keep the whole state", async () => {
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

  it("triggers that are due at one moment make one checkpoint, named after the most important; the others say so", async () => {
    const opened = await storage.open();
    const events: PersistenceEvent[] = [];
    const named = (name: string, priority: CheckpointTrigger["priority"]) => ({ name, priority, isDue: () => true });
    const triggers = [named("later", "normal"), named("first", "critical"), named("also", "high")];
    await durableAgent(steps(2), opened(), { triggers, onEvent: (event) => void events.push(event) }).run("");
    expect(events.filter(({ kind }) => kind.startsWith("checkpoint"))).toMatchObject([
      { kind: "checkpoint_saved", trigger: "run_started" },
      { kind: "checkpoint_skipped", trigger: "also", reason: "merged", nodeId: "n0" },
      { kind: "checkpoint_skipped", trigger: "later", reason: "merged", nodeId: "n0" },
      { kind: "checkpoint_saved", trigger: "first", nodeId: "n1" },
      { kind: "checkpoint_saved", trigger: "run_ended" },
    ]);
  });

  it("triggers that throw are reported, and lose no checkpoint", async () => {
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
      expect.objectContaining({ kind: "trigger_failed", trigger: "broken", nodeId: "n0", reason: "no idea" }),
    );
    expect((await checkpointsOf(agent)).map(({ nodeId }) => nodeId)).toEqual(["n0", "n1", "finish"]);
  });

  it("triggers that throw with nobody listening become a warning of the process", async () => {
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

  it("triggers are not asked when automatic persistence is off", async () => {
    const opened = await storage.open();
    const agent = durableAgent(steps(2), opened(), { automatic: false, triggers: [triggers.afterNode()] });
    await agent.run("");
    expect((await checkpointsOf(agent)).map(({ nodeId }) => nodeId)).toEqual(["finish"]);
  });
});

describe.each(logStorages)("$name: critical triggers", (storage) => {
  it("a critical trigger has its checkpoint durable before the operation: a storage that fails then keeps it from happening", async () => {
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

  it("a critical trigger does not fail where the node has saved a later state by hand, which is kept", async () => {
    const opened = await storage.open();
    const events: PersistenceEvent[] = [];
    const { persistence } = await import("agent-persistence");
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
      expect.objectContaining({ kind: "checkpoint_skipped", reason: "superseded", nodeId: "ask" }),
    );
  });
});

describe("what is due", () => {
  const moment = (facts: Partial<TriggerMoment>): TriggerMoment =>
    ({ kind: "node_completed", nodeId: "n", left: [], elapsedMs: 0, grownBytes: 0, ...facts }) as TriggerMoment;

  it.each([
    [triggers.interval(), { elapsedMs: 5 * minute - 1, grownBytes: 1 }, false],
    [triggers.interval(), { elapsedMs: 5 * minute, grownBytes: 1 }, true],
    [triggers.interval(), { elapsedMs: 5 * minute, grownBytes: 0 }, "unchanged"],
    [triggers.interval({ everyMs: 10 }), { elapsedMs: 10, grownBytes: 1 }, true],
    [triggers.contextDelta(), { grownBytes: 10 * 1_024 }, false],
    [triggers.contextDelta(), { grownBytes: 10 * 1_024 + 1 }, true],
    [triggers.afterAgentCompletion(), { left: [] }, false],
    [triggers.afterAgentCompletion(), { left: ["a/b", "a"] }, true],
  ] as const)("a trigger decides whether it is due: %o at %o: %s", (trigger, facts, expected) => {
    expect(trigger.isDue(moment(facts as Partial<TriggerMoment>))).toBe(expected);
  });

  it("a trigger that is due is distinguished from one that would be due if anything had changed", () => {
    const installed = [triggers.interval(), triggers.afterNode()];
    expect(dueTriggers(installed, moment({ elapsedMs: 5 * minute }))).toEqual({
      due: installed[1],
      merged: [],
      unchanged: [installed[0]],
      failed: [],
    });
  });
});
