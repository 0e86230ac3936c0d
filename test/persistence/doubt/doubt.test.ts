import {
  persistence,
  strategy,
  ToolFailedError,
  ToolOutcomeUnknownError,
  type AgentContext,
  type AgentFeature,
  type AIAgent,
  type OnToolCallInDoubt,
  type PersistenceStorageProvider,
  type ToolCallInDoubt,
  type ToolCallSettlement,
  type ToolProbeAnswer,
} from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { crashAfter } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { defaultLoop } from "../support/defaultLoop.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { latestOf, recordedCalls, recordsOf } from "../support/stored.ts";
import { logStorages, type TestStorage } from "../support/storages.ts";
import { World } from "../support/World.ts";

type Made = { readonly made: string };
interface Choices {
  readonly probe?: (item: string) => ToolProbeAnswer<Made> | Promise<ToolProbeAnswer<Made>>;
  readonly onToolCallInDoubt?: OnToolCallInDoubt;
}

/** Pays once, and ends with what became of it. */
const byCode = (world: World, choices: Choices) => {
  const pay = payment(world, choices);
  return strategy<string, string>("code", (g) => {
    const only = g.node("only", async (item: string, context: AgentContext) => {
      const paid = await context.tools.call(pay, { item }).catch((error: unknown) => {
        if (error instanceof ToolOutcomeUnknownError) return "unknown";
        if (error instanceof ToolFailedError) return `failed: ${error.reason}`;
        throw error;
      });
      return JSON.stringify(paid);
    });
    g.edge(g.start, only);
    g.edge(only, g.finish);
  });
};

function payment(world: World, { probe }: Choices) {
  const pay = world.adder("pay");
  return probe ? { ...pay, probe: ({ item }: { readonly item: string }) => probe(item) } : pay;
}

/** Who asks for the call, and after how many saves a process ends that has made it and not recorded its end. */
const askers = [
  {
    by: "node code",
    saves: 2,
    build: (world: World, storage: PersistenceStorageProvider, choices: Choices) =>
      durableAgent(byCode(world, choices), storage, { tools: [payment(world, choices)], ...choices }),
  },
  {
    by: "a model",
    saves: 3,
    build: (world: World, storage: PersistenceStorageProvider, choices: Choices) =>
      durableAgent(defaultLoop, storage, {
        tools: [payment(world, choices)],
        turns: [{ toolCalls: [{ toolName: "pay", input: { item: "x" } }] }, "done"],
        ...choices,
      }),
  },
] as const;

type Asker = (typeof askers)[number];

/** A process that made the call and ended before it could record how. */
async function inDoubt(asker: Asker, storage: TestStorage<LogPersistenceStorageProvider>, choices: Choices = {}) {
  const world = new World();
  const opened = await storage.open();
  await asker
    .build(world, crashAfter(opened(), asker.saves), choices)
    .run("x")
    .catch(() => undefined);
  expect(world.done).toEqual(["pay x"]);
  return { world, opened, agent: (again = choices) => asker.build(world, opened(), again) };
}

/** What the node or the model was told of the call. */
async function toldBy(agent: AIAgent<string, string>): Promise<string> {
  const { messageHistory, lastInput } = await latestOf(agent);
  const told = messageHistory.find(({ role }) => role === "tool");
  if (!told || typeof told.content === "string") return lastInput as string;
  const [part] = told.content;
  if (part?.type !== "tool-result") throw new Error("There is no result.");
  return JSON.stringify(part.isError ? [part.output] : part.output);
}

interface Case {
  readonly settlement: ToolCallSettlement;
  readonly runs: number;
  readonly code: string;
  readonly model: string | RegExp;
}

const cases: readonly Case[] = [
  { settlement: "retry", runs: 2, code: '{"made":"x"}', model: '{"made":"x"}' },
  { settlement: { output: { made: "by hand" } }, runs: 1, code: '{"made":"by hand"}', model: '{"made":"by hand"}' },
  { settlement: { error: "declined" }, runs: 1, code: '"failed: declined"', model: '["declined"]' },
  { settlement: "unknown", runs: 1, code: '"unknown"', model: /^\["It is not known whether/ },
];

describe.each(logStorages)("$name: calls in doubt", (storage) => {
  describe.each(askers)("requested by $by", (asker) => {
    const isCode = asker.by === "node code";

    async function expectSettled(agent: AIAgent<string, string>, world: World, { runs, code, model }: Case) {
      expect(await agent.resume()).toMatchObject({ status: "completed" });
      expect(world.executed).toHaveLength(runs);
      expect(new Set(world.executed).size).toBe(1);
      expect(await toldBy(agent)).toMatch(isCode ? code : model);
      // Recorded like any other end: nobody is asked again.
      expect(await agent.resume()).toMatchObject({ status: "completed" });
      expect(await persistence(agent).agent().getToolCallsInDoubt()).toHaveLength(code === '"unknown"' ? 1 : 0);
    }

    it.each(cases)("are resolved by a handler as $settlement", async (one) => {
      const asked: ToolCallInDoubt[] = [];
      const onToolCallInDoubt = async (call: ToolCallInDoubt) => {
        asked.push(call);
        return one.settlement;
      };
      const { world, agent } = await inDoubt(asker, storage);
      await expectSettled(agent({ onToolCallInDoubt }), world, one);
      const [toolCallId] = world.executed;
      const nodeId = isCode ? "only" : "callTools";
      expect(asked).toEqual([
        { agentId: "a", toolCallId, toolName: "pay", nodeId, effect: "irreversible", input: { item: "x" } },
      ]);
    });

    it.each(cases)("are resolved from outside as $settlement, without the process that made them", async (one) => {
      const { world, opened, agent } = await inDoubt(asker, storage);
      await expect(agent().resume()).rejects.toMatchObject({ code: "tool_call_in_doubt" });
      const outside = persistence(agent()).agent();
      const [call] = await outside.getToolCallsInDoubt();
      expect(call).toMatchObject({ toolCallId: world.executed[0], toolName: "pay", input: { item: "x" } });
      await outside.settleToolCall(call?.toolCallId ?? "", one.settlement);
      expect(await recordsOf(opened())).toContainEqual(
        expect.objectContaining({ kind: "outcome", call: call?.toolCallId, settled: "outside" }),
      );
      await expectSettled(agent(), world, one);
    });

    it("are repeated under their id if the configuration says so", async () => {
      const { world, agent } = await inDoubt(asker, storage);
      await expectSettled(agent({ onToolCallInDoubt: "retry" }), world, cases[0] as Case);
    });

    it.each([
      { answer: { status: "done", output: { made: "found" } }, runs: 1, told: '{"made":"found"}' },
      { answer: "not-done", runs: 2, told: '{"made":"x"}' },
    ] as const)("are resolved by the probe of their tool: $answer", async ({ answer, runs, told }) => {
      const asked: string[] = [];
      const probe = async (item: string): Promise<ToolProbeAnswer<Made>> => {
        asked.push(item);
        return answer;
      };
      const { world, agent } = await inDoubt(asker, storage, { probe });
      const onToolCallInDoubt = (): never => expect.fail("The tool knew.");
      await expectSettled(agent({ probe, onToolCallInDoubt }), world, {
        settlement: "retry",
        runs,
        code: told,
        model: told,
      });
      expect(asked).toEqual(["x"]);
    });

    it("have no output if the probe reports only that they are done", async () => {
      const { agent } = await inDoubt(asker, storage, { probe: () => "done" });
      expect(await agent().resume()).toMatchObject({ status: "completed" });
      expect((await latestOf(agent())).toolCalls).toEqual(
        isCode ? [expect.objectContaining({ status: "succeeded", output: undefined })] : [],
      );
    });

    it.each([
      ["does not know", () => "unknown" as const, undefined],
      ["fails", () => Promise.reject(new RangeError("no line")), "no line"],
      [
        "answers something else",
        () => "perhaps" as never,
        expect.stringContaining('The probe of tool "pay" answered perhaps'),
      ],
    ])("are left to a person if their tool %s", async (_what, probe, reason: unknown) => {
      const { world, agent } = await inDoubt(asker, storage, { probe });
      const error: unknown = await agent()
        .resume()
        .catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        code: "tool_call_in_doubt",
        agentId: "a",
        toolName: "pay",
        toolCallId: world.executed[0],
        declaration: 'tool({ name: "pay", effect: "idempotent", … })',
        message: expect.stringContaining(
          `persistence(agent).agent("a").settleToolCall("${world.executed[0]}"`,
        ) as string,
        ...(reason !== undefined && { cause: { message: reason } }),
      });
      expect(world.executed).toHaveLength(1);
    });

    it.each([undefined, "done", {}, { output: 1, error: "both" }, { error: 7 }, null])(
      "stay in doubt if they are resolved as %j, which is invalid",
      async (nonsense) => {
        const { world, agent } = await inDoubt(asker, storage);
        const settlement = nonsense as ToolCallSettlement;
        const outside = persistence(agent()).agent();
        const toolCallId = world.executed[0] ?? "";
        const refusal = { code: "invalid_input", subject: `settlement of tool call ${toolCallId}` };
        await expect(agent({ onToolCallInDoubt: () => settlement }).resume()).rejects.toMatchObject(refusal);
        await expect(outside.settleToolCall(toolCallId, settlement)).rejects.toMatchObject(refusal);
        expect(await outside.getToolCallsInDoubt()).toHaveLength(1);
      },
    );

    it("stay in doubt if their handler throws or returns an output that cannot be stored", async () => {
      const { world, agent } = await inDoubt(asker, storage);
      const thrown = new RangeError("nobody there");
      const throwing = agent({ onToolCallInDoubt: () => Promise.reject(thrown) });
      await expect(throwing.resume()).rejects.toBe(thrown);
      const output = { deep: [() => 1] };
      const refusal = { code: "not_serializable", subject: 'the settled output of "pay"', path: ".deep[0]" };
      await expect(agent({ onToolCallInDoubt: () => ({ output }) }).resume()).rejects.toMatchObject(refusal);
      const outside = persistence(agent()).agent();
      await expect(outside.settleToolCall(world.executed[0] ?? "", { output })).rejects.toMatchObject(refusal);
      expect(await outside.getToolCallsInDoubt()).toHaveLength(1);
      expect(world.executed).toHaveLength(1);
    });

    it("are in doubt again if a retry is interrupted", async () => {
      const { world, opened, agent } = await inDoubt(asker, storage);
      const outside = persistence(agent()).agent();
      const toolCallId = world.executed[0] ?? "";
      await outside.settleToolCall(toolCallId, "retry");
      expect(await outside.getToolCallsInDoubt()).toMatchObject([{ toolCallId, settled: "retry" }]);
      // Its second try is cut short like the first: one permission is for one try.
      await asker
        .build(world, crashAfter(opened(), 1), {})
        .resume()
        .catch(() => undefined);
      expect(world.executed).toHaveLength(2);
      await expect(agent().resume()).rejects.toMatchObject({ code: "tool_call_in_doubt", toolCallId });
      await outside.settleToolCall(toolCallId, "unknown");
      await outside.settleToolCall(toolCallId, { output: { made: "late" } });
      expect(await agent().resume()).toMatchObject({ status: "completed" });
      expect(await toldBy(agent())).toBe('{"made":"late"}');
    });
  });

  it("cannot be resolved if they are not in doubt", async () => {
    const [asker] = askers;
    const { world, opened, agent } = await inDoubt(asker, storage);
    const outside = persistence(agent()).agent();
    const toolCallId = world.executed[0] ?? "";
    await expect(outside.settleToolCall("other", "retry")).rejects.toMatchObject({
      code: "tool_call_not_in_doubt",
      toolCallId: "other",
      ended: false,
      inDoubt: [{ toolCallId, toolName: "pay" }],
    });
    await outside.settleToolCall(toolCallId, { output: 1 });
    const records = (await recordsOf(opened())).length;
    await expect(outside.settleToolCall(toolCallId, { output: 2 })).rejects.toMatchObject({
      code: "tool_call_not_in_doubt",
      ended: true,
      inDoubt: [],
    });
    expect(await recordsOf(opened())).toHaveLength(records);
    expect((await recordedCalls(opened())).inDoubt).toEqual(new Set());
  });

  it("cannot be resolved while their agent runs", async () => {
    const [asker] = askers;
    const { world, agent } = await inDoubt(asker, storage);
    const outside = persistence(agent()).agent();
    const busy: unknown[] = [];
    const onToolCallInDoubt = async ({ toolCallId }: ToolCallInDoubt) => {
      busy.push(await outside.settleToolCall(toolCallId, "retry").catch((error: unknown) => error));
      return "unknown" as const;
    };
    await agent({ onToolCallInDoubt }).resume();
    expect(busy).toMatchObject([{ code: "agent_busy" }]);
    expect(world.executed).toHaveLength(1);
  });
});

/** Stops the run before any tool begins. */
const stopping = (stop: AbortController): AgentFeature<Record<never, never>, undefined> => ({
  key: "stopping",
  install: (pipeline) => {
    pipeline.aroundToolCall((event, next) => {
      stop.abort(new RangeError("enough"));
      return next(event);
    });
    return undefined;
  },
});

describe.each(logStorages)("$name: calls that started before a crash", (storage) => {
  it("stay in doubt if the second attempt stops before it starts", async () => {
    const { opened, world, agent } = await inDoubt(askers[0], storage);
    const stop = new AbortController();
    const stopped = agent({ onToolCallInDoubt: "retry" }).install(stopping(stop)).resume({ signal: stop.signal });
    await expect(stopped).rejects.toThrow("enough");
    expect(await recordedCalls(opened())).toEqual({ ended: new Set(), inDoubt: new Set(world.executed) });
  });

  it("end on the lane that repeats them", async () => {
    const opened = await storage.open();
    const world = new World();
    const book = world.adder("book", "idempotent");
    const [begun, saved] = [deferred(), deferred()];
    const slow = {
      ...book,
      execute: async (...given: Parameters<typeof book.execute>) => {
        begun.resolve();
        await saved.promise;
        return book.execute(...given);
      },
    };
    let first = true;
    const graph = strategy<string, string>("s", (g) => {
      const only = g.node("only", async (item: string, context: AgentContext) => {
        const booking = context.tools.call(slow, { item });
        if (first) {
          first = false;
          await begun.promise;
          await persistence(context).createCheckpoint({ checkpointId: "within" });
          await persistence(context).createCheckpoint({ nodeId: "only", lastInput: "" });
          saved.resolve();
        }
        await booking;
        await context.tools.call(slow, { item: `${item} more` });
        return "done";
      });
      g.edge(g.start, only);
      g.edge(only, g.finish);
    });
    const build = (provider: PersistenceStorageProvider) => durableAgent(graph, provider, { tools: [slow] });
    const crash = await build(crashAfter(opened(), 4))
      .run("x")
      .catch((error: unknown) => error);
    expect(crash).toMatchObject({ code: "simulated_crash" });
    // The opening of the branch, then the end of the first call with the beginning of the second.
    await build(crashAfter(opened(), 2))
      .resume({ checkpointId: "within" })
      .catch(() => undefined);
    expect(world.done).toEqual(["book x", "book x", "book x more"]);
    expect(await build(opened()).resume()).toMatchObject({ output: "done" });
    expect(world.done.slice(3)).toEqual(["book x more"]);
    expect(new Set(world.executed).size).toBe(2);
  });
});

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}
