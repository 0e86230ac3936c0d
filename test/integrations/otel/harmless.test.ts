import {
  type AgentContext,
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  strategy,
  tool,
} from "agent-persistence";
import { Telemetry, type TelemetryOperation, type TelemetrySpan } from "agent-persistence/feature";
import { openTelemetry } from "agent-persistence/otel";
import { scriptedModel } from "agent-persistence/testing";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { recordingTelemetry, tracedAgent } from "./tracedAgent.ts";

const fail = (): never => {
  throw new Error("telemetry is down");
};

/** Telemetry of which one part fails. */
class Failing extends Telemetry {
  readonly #span: TelemetrySpan;

  constructor(broken: Partial<TelemetrySpan> | "start" | "content") {
    super();
    const sound: TelemetrySpan = { run: (action) => action(), end: () => undefined };
    this.#span = Object.assign(Object.create(sound) as TelemetrySpan, typeof broken === "string" ? {} : broken);
    if (broken === "content") Object.defineProperty(this, "content", { get: fail });
    if (broken === "start") this.start = fail;
  }

  override start(_operation: TelemetryOperation): TelemetrySpan {
    return this.#span;
  }
}

describe("telemetry that fails", () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  const broken: Readonly<Record<string, ConstructorParameters<typeof Failing>[0]>> = {
    "that throws when an operation begins": "start",
    "that throws when it is asked for its settings": "content",
    "that throws instead of calling the action": { run: fail },
    "that throws after the action": {
      run: (action) => {
        action();
        return fail();
      },
    },
    "that calls the action twice": {
      run: (action) => {
        action();
        return action();
      },
    },
    "that calls the action later": { run: (action) => Promise.resolve().then(action) as never },
    "that never calls the action": { run: () => undefined as never },
    "that throws when an operation ends": { end: fail },
    "that rejects when an operation ends": {
      end: () => Promise.reject(new Error("telemetry is down")) as unknown as void,
    },
    "whose trace is no text": { trace: 7 as never },
    "whose spans have no methods": { run: undefined as never, end: undefined as never },
  };

  it.each(Object.entries(broken))("%s does not affect the run", async (_title, part) => {
    vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    let looked = 0;
    const count = tool({
      name: "look",
      description: "Looks.",
      inputSchema: z.object({ at: z.string() }),
      execute: async () => `seen ${++looked}`,
    });
    const agent = tracedAgent(new Failing(part), { tools: [count] });
    const result = await agent.run("hello", { agentId: "a-1" });
    expect(result).toMatchObject({ status: "completed", output: "done" });
    expect(looked).toBe(1);
  });

  it("a failing telemetry causes a single warning, even if each error has another message", async () => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    let errors = 0;
    const end = () => {
      throw new Error(`error ${++errors}`);
    };
    await tracedAgent(new Failing({ end })).run("hello", { agentId: "a-1" });
    expect(errors).toBeGreaterThan(1);
    expect(warned.mock.calls.length).toBeLessThanOrEqual(1);
  });

  it("a failing telemetry does not hide the error of a run", async () => {
    vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const agent = tracedAgent(new Failing({ end: fail }), { turns: [] });
    await expect(agent.run("hello", { agentId: "a-1" })).rejects.toMatchObject({ code: "script_ended" });
  });

  it("an invalid telemetry is refused at installation", () => {
    expect(() => tracedAgent({ start: () => undefined } as never)).toThrow(/telemetry.*expected a Telemetry/);
    expect(() => openTelemetry({ tracer: {} as never })).toThrow(/tracer.*expected an object with startSpan/);
    expect(() => openTelemetry({ traces: true } as never)).toThrow(/traces/);
  });

  it("an invalid trace in a log is not linked", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    class Forged extends Failing {
      override start(): TelemetrySpan {
        return { trace: "00-forged\n", run: (action) => action(), end: () => undefined };
      }
    }
    await tracedAgent(new Forged({}), { storage }).run("hello", { agentId: "a-1" });
    const { telemetry, named } = recordingTelemetry();
    await tracedAgent(telemetry, { storage }).resume({ agentId: "a-1" });
    expect(named("invoke_agent desk").map(({ links }) => links)).toEqual([[]]);
  });
});

describe("spans of branches", () => {
  it("calls of parallel branches are in their run and name their branch", async () => {
    const { telemetry, named, parentOf } = recordingTelemetry();
    const step = tool({
      name: "step",
      description: "Steps.",
      effect: "none",
      inputSchema: z.object({}),
      execute: async () => "done",
    });
    const both = strategy<string, string>("both", (graph) => {
      const call = async (_input: string, { tools }: AgentContext) => tools.call(step, {});
      const branches = { left: graph.node("left", call), right: graph.node("right", call) };
      const fork = graph.parallel("fork", branches, () => "joined");
      graph.edge(graph.start, fork);
      graph.edge(fork, graph.finish);
    });
    const agent = new AIAgent({
      id: "desk",
      promptExecutor: scriptedModel([]),
      llmModel: "small",
      tools: [step],
      strategy: both,
    });
    agent.install(Persistence, { storage: new InMemoryPersistenceStorageProvider(), telemetry });
    await agent.run("x", { agentId: "a-1" });
    const calls = named("execute_tool step");
    expect(calls.map(({ attributes }) => attributes["agent_persistence.branch"])).toEqual(["fork#left", "fork#right"]);
    expect(calls.map(parentOf)).toEqual(["invoke_agent desk", "invoke_agent desk"]);
  });
});
