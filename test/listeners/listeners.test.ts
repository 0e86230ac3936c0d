import {
  InMemoryPersistenceStorageProvider,
  NoPersistenceStorageProvider,
  persistence,
  printEvents,
  strategy,
  type AgentContext,
  type PersistenceEvent,
} from "agent-persistence";
import { crashAfter } from "agent-persistence/testing";
import { describe, expect, expectTypeOf, it, vi } from "vitest";
import { durableAgent, Fault } from "../persistence/support/durableAgent.ts";
import { checkpointsOf } from "../persistence/support/stored.ts";
import { logStorages, storages } from "../persistence/support/storages.ts";

/** Two nodes, of which the second can be made to fail. */
const twoNodes = (fault?: Fault) =>
  strategy<string, string>("s", (g) => {
    const first = g.node("first", (input: string, context: AgentContext) => {
      context.setProgress(50, "half way");
      return input;
    });
    const second = g.node("second", (input: string) => {
      fault?.strike();
      return input;
    });
    g.edge(g.start, first);
    g.edge(first, second);
    g.edge(second, g.finish);
  });

/** What tests compare of an event. */
function shown(event: PersistenceEvent): string {
  switch (event.type) {
    case "checkpoint_saved":
      return `saved ${event.nodeId}, ${event.trigger}`;
    case "checkpoint_restored":
      return `restored ${event.nodeId}, ${event.by}`;
    case "status_changed":
      return `${event.previous ?? "new"} to ${event.status}`;
    default:
      return event.type;
  }
}

function recorder() {
  const events: PersistenceEvent[] = [];
  return { events, onEvent: (event: PersistenceEvent) => events.push(event), lines: () => events.map(shown) };
}

describe.each(storages)("$name: events", (storage) => {
  it("report each checkpoint and each status change in order", async () => {
    const opened = await storage.open();
    const { onEvent, lines, events } = recorder();
    const agent = durableAgent(twoNodes(), opened(), { onEvent });
    const { runId } = await agent.run("go");
    expect(lines()).toEqual([
      "saved first, run_started",
      "new to in_progress",
      "saved second, after_node",
      "saved finish, run_ended",
      "in_progress to completed",
    ]);
    const [, , second] = events;
    expect(second).toEqual({
      type: "checkpoint_saved",
      agentId: "a",
      runId,
      at: "2026-01-01T00:00:00.000Z",
      checkpointId: (await checkpointsOf(agent))[1]?.checkpointId,
      version: 2,
      nodeId: "second",
      iteration: 1,
      progress: 50,
      progressSummary: "half way",
      trigger: "after_node",
    });
  });

  it("report where a run continues after a crash, and its progress", async () => {
    const opened = await storage.open();
    const fault = new Fault();
    await expect(durableAgent(twoNodes(fault), opened()).run("go")).rejects.toThrow("stopped");
    fault.repair();
    const { onEvent, lines, events } = recorder();
    await durableAgent(twoNodes(), opened(), { onEvent }).resume();
    expect(lines().filter((line) => !line.includes(" to "))).toEqual([
      "restored second, resume",
      "saved finish, run_ended",
    ]);
    expect(events[0]).toMatchObject({ iteration: 1, progress: 50, progressSummary: "half way" });
  });

  it("report only stored changes", async () => {
    for (let saves = 0; saves < 3; saves++) {
      const opened = await storage.open();
      const { onEvent, events } = recorder();
      await durableAgent(twoNodes(), crashAfter(opened(), saves), { onEvent })
        .run("go")
        .catch(() => undefined);
      const kept = await checkpointsOf(durableAgent(twoNodes(), opened()));
      const saved = events.flatMap((event) => (event.type === "checkpoint_saved" ? [event.checkpointId] : []));
      expect(kept.map(({ checkpointId }) => checkpointId)).toEqual(expect.arrayContaining(saved));
      expect(saved.length).toBeLessThanOrEqual(saves);
    }
  });

  it("report a listener that throws or rejects, and lose no checkpoint", async () => {
    for (const fail of [() => Promise.reject(new RangeError("deaf")), throwing(new RangeError("deaf"))]) {
      const opened = await storage.open();
      const reported: string[] = [];
      const onListenerError = (error: unknown, event: PersistenceEvent) => {
        reported.push(`${String(error)}: ${shown(event)}`);
        throw new TypeError("deaf as well");
      };
      const agent = durableAgent(twoNodes(), opened(), { onEvent: fail, onListenerError });
      expect(await agent.run("go")).toMatchObject({ status: "completed", output: "go" });
      expect(reported).toContain("RangeError: deaf: saved second, after_node");
      expect(reported).toHaveLength(5);
      expect((await checkpointsOf(agent)).map(({ nodeId }) => nodeId)).toEqual(["first", "second", "finish"]);
    }
  });
});

describe.each(logStorages)("$name: events of moves", (storage) => {
  it("from outside report a restored checkpoint, a new checkpoint, and the pause", async () => {
    const opened = await storage.open();
    const { onEvent, lines, events } = recorder();
    const agent = durableAgent(twoNodes(), opened(), { onEvent });
    await agent.run("go");
    const [first] = await checkpointsOf(agent);
    events.length = 0;
    await persistence(agent)
      .agent()
      .rollbackToCheckpoint(first?.checkpointId ?? "");
    expect(lines()).toEqual([
      "completed to paused",
      "saved first, rollback",
      "paused to in_progress",
      "in_progress to paused",
      "restored first, rollback",
    ]);
  });

  it("name the run that a checkpoint belongs to, even if another run follows", async () => {
    const opened = await storage.open();
    const { onEvent, events } = recorder();
    const agent = durableAgent(twoNodes(), opened(), { onEvent });
    await agent.run("a", { runId: "r-1" });
    await agent.run("b", { runId: "r-2" });
    const stored = await checkpointsOf(agent);
    const saved = events.flatMap((event) => (event.type === "checkpoint_saved" ? [event] : []));
    expect(saved.map(({ runId, checkpointId }) => [runId, checkpointId])).toEqual(
      stored.map(({ runId, checkpointId }) => [runId, checkpointId]),
    );
    expect(new Set(saved.map(({ runId }) => runId))).toEqual(new Set(["r-1", "r-2"]));
  });

  it("mark a requested checkpoint as requested", async () => {
    const opened = await storage.open();
    const { onEvent, lines } = recorder();
    const asking = strategy<string, string>("s", (g) => {
      const only = g.node("only", async (input: string, context: AgentContext) => {
        await persistence(context).createCheckpoint({ nodeId: "only", lastInput: input });
        return input;
      });
      g.edge(g.start, only);
      g.edge(only, g.finish);
    });
    await durableAgent(asking, opened(), { onEvent, automatic: false }).run("go");
    expect(lines()).toContain("saved only, asked_for");
  });
});

describe("printEvents", () => {
  it("prints events line by line, without terminal control characters", async () => {
    const lines: string[] = [];
    const agent = durableAgent(twoNodes(), new InMemoryPersistenceStorageProvider(), {
      onEvent: printEvents((line) => void lines.push(line)),
    });
    await agent.run("go", { agentId: "a\u001b[31m" });
    expect(lines).toEqual(
      [
        "saved checkpoint 1-1 (run_started), next first, iteration 0",
        "in_progress",
        "saved checkpoint 1-2 (after_node), next second, iteration 1, 50 %, half way",
        "saved checkpoint 1-3 (run_ended), next finish, iteration 2, 50 %, half way",
        "in_progress → completed",
      ].map((text) => `2026-01-01T00:00:00.000Z a [31m: ${text}`),
    );
  });

  it("prints no characters that change text direction, and no line breaks of any kind", () => {
    const lines: string[] = [];
    const marks = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u2028\u2029\u0085\n\r";
    void printEvents((line) => void lines.push(line))({
      type: "checkpoint_skipped",
      agentId: `a${marks}b`,
      at: "now",
      runId: "r",
      nodeId: marks,
      trigger: "t\u{1f469}\u200d\u{1f4bb}",
      reason: "merged",
    } as never);
    expect(lines.join()).not.toMatch(/[\p{Bidi_Control}\p{Cc}\p{Zl}\p{Zp}]/u);
    expect(lines.join()).toContain("t\u{1f469}\u200d\u{1f4bb}");
  });

  it("distinguishes an agent that lost checkpoints from a deleted agent", () => {
    const lines: string[] = [];
    const print = printEvents((line) => void lines.push(line));
    const event = {
      type: "checkpoint_pruned",
      agentId: "a",
      at: "now",
      checkpointIds: ["1-1", "1-2"],
      bytes: 5,
    } as const;
    void print({ ...event, dropped: false });
    void print({ ...event, dropped: true });
    expect(lines).toEqual([
      "now a: pruned 2 checkpoints, 5 bytes",
      "now a: dropped the agent with its 2 checkpoints, 5 bytes",
    ]);
  });
});

describe("a failing listener without an error handler", () => {
  it("becomes a process warning that names the event and the agent", async () => {
    const emitWarning = vi.spyOn(process, "emitWarning").mockReturnValue(undefined);
    const agent = durableAgent(twoNodes(), new NoPersistenceStorageProvider(), {
      onEvent: throwing(new Error("deaf")),
    });
    await agent.run("go");
    expect(emitWarning.mock.calls[0]).toEqual([
      'The listener failed on checkpoint_saved of agent "a": deaf',
      { type: "AgentPersistenceWarning", code: "listener_failed" },
    ]);
    emitWarning.mockRestore();
  });
});

it("the kind of an event determines its fields", () => {
  expectTypeOf<Extract<PersistenceEvent, { type: "status_changed" }>["status"]>().toEqualTypeOf<string>();
  expectTypeOf<Extract<PersistenceEvent, { type: "checkpoint_restored" }>["version"]>().toEqualTypeOf<number>();
});

function throwing(error: Error): () => never {
  return () => {
    throw error;
  };
}
