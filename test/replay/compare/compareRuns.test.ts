import { InMemoryPersistenceStorageProvider, strategy, type AnyTool } from "agent-persistence";
import { compareRuns, readRunTrace, type RunTrace, type TraceVisit } from "agent-persistence/replay";
import { scriptedModel } from "agent-persistence/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chain } from "../../persistence/support/calledAgents.ts";
import { durableAgent } from "../../persistence/support/durableAgent.ts";
import { World } from "../../persistence/support/World.ts";
import { AIAgent, Persistence } from "agent-persistence";

type Turns = Parameters<typeof scriptedModel>[0];

async function loopTrace(
  turns: Turns,
  options: { readonly prompt?: string; readonly tools?: readonly AnyTool[] } = {},
) {
  const storage = new InMemoryPersistenceStorageProvider();
  const world = new World();
  const tools = options.tools ?? [world.adder("add"), world.adder("send")];
  const agent = new AIAgent({
    id: "a",
    llmModel: "small",
    ...(options.prompt !== undefined && { systemPrompt: options.prompt }),
    tools,
    promptExecutor: scriptedModel(turns),
  }).install(Persistence, { storage });
  await agent.run("hello");
  return readRunTrace(storage, { agentId: "a" });
}

const add = (item: string) => ({ toolName: "add", input: { item } });
const turns: Turns = [{ toolCalls: [add("x"), add("y")] }, { toolCalls: [add("z")] }, "done"];

const shape = ({ steps }: ReturnType<typeof compareRuns>) => steps.map(({ change, node }) => `${change} ${node}`);

describe("compareRuns", () => {
  it("finds no difference between two runs of the same code, whose call ids differ", async () => {
    const [before, after] = [await loopTrace(turns), await loopTrace(turns)];
    const comparison = compareRuns(before, after);
    expect(before.visits[1]?.calls[0]?.toolCallId).not.toBe(after.visits[1]?.calls[0]?.toolCallId);
    expect(comparison).toMatchObject({ isSame: true, calls: { same: 3, changed: 0, added: 0, removed: 0 } });
    expect(comparison.firstDivergence).toBeUndefined();
    expect(new Set(comparison.steps.map(({ change }) => change))).toEqual(new Set(["same"]));
  });

  it("shows a changed input of a call with its different part, and the changed outcome", async () => {
    const before = await loopTrace(turns);
    const after = await loopTrace([{ toolCalls: [add("x"), add("other")] }, { toolCalls: [add("z")] }, "done"]);
    const comparison = compareRuns(before, after);
    expect(comparison).toMatchObject({
      isSame: false,
      firstDivergence: 0,
      calls: { same: 2, changed: 1, added: 0, removed: 0 },
    });
    expect(shape(comparison)).toEqual([
      "changed callModel",
      "changed callTools",
      "changed callModel",
      "same callTools",
      "same callModel",
    ]);
    expect(comparison.steps[1]?.calls).toMatchObject([
      {
        change: "changed",
        tool: "add",
        input: [{ path: ["item"], before: "y", after: "other" }],
        isOutcomeChanged: true,
      },
    ]);
    expect(comparison.steps[0]?.messages.map(({ change }) => change)).toEqual(["removed", "added"]);
  });

  it("shows added and removed calls and steps", async () => {
    const before = await loopTrace(turns);
    const after = await loopTrace([{ toolCalls: [add("x"), add("y")] }, "done"]);
    const comparison = compareRuns(before, after);
    expect(shape(comparison)).toEqual([
      "same callModel",
      "same callTools",
      "changed callModel",
      "removed callTools",
      "removed callModel",
    ]);
    expect(comparison.calls).toEqual({ same: 2, changed: 0, added: 0, removed: 1 });
    expect(compareRuns(after, before).calls).toEqual({ same: 2, changed: 0, added: 1, removed: 0 });
    const sent = compareRuns(
      after,
      await loopTrace([{ toolCalls: [add("x"), { toolName: "send", input: { item: "y" } }] }, "done"]),
    );
    expect(sent.steps[1]?.calls.map(({ change, tool }) => [change, tool])).toEqual([
      ["removed", "add"],
      ["added", "send"],
    ]);
  });

  it("compares outputs, errors and statuses", async () => {
    const built = (body: (text: string) => string) => async () => {
      const storage = new InMemoryPersistenceStorageProvider();
      await durableAgent(chain("one", { one: (text) => body(text) }), storage)
        .run("go")
        .catch(() => {});
      return readRunTrace(storage, { agentId: "a" });
    };
    const [went, failed] = [
      await built((text) => `${text}ne`)(),
      await built(() => {
        throw new RangeError("far");
      })(),
    ];
    expect(compareRuns(went, failed)).toMatchObject({
      isSame: false,
      status: { before: "completed", after: "failed" },
      output: { before: "gone" },
      error: { after: { name: "RangeError", message: "far" } },
    });
    const [other] = [await built((text) => `${text}es`)()];
    expect(compareRuns(went, other)).toMatchObject({
      output: { before: "gone", after: "goes" },
      steps: [{ change: "changed", node: "one", output: { before: "gone", after: "goes" } }],
    });
  });

  it("shows another input, even if the run ignores it", async () => {
    const traceOf = async (input: string) => {
      const storage = new InMemoryPersistenceStorageProvider();
      await durableAgent(chain("fixed", { one: () => "done" }), storage).run(input);
      return readRunTrace(storage, { agentId: "a" });
    };
    const comparison = compareRuns(await traceOf("this"), await traceOf("that"));
    expect(comparison).toMatchObject({ isSame: false, input: { before: "this", after: "that" } });
    expect(comparison.firstDivergence).toBeUndefined();
  });

  it("sums tokens and costs by the user's prices, with the price of cached tokens", () => {
    const visit = (model: string, cachedInputTokens?: number): TraceVisit => ({
      node: "n",
      state: "ended",
      calls: [],
      waits: [],
      messages: { added: [], removed: [] },
      requests: [
        {
          newMessages: 0,
          response: {},
          model,
          usage: {
            inputTokens: 1_000,
            outputTokens: 100,
            totalTokens: 1_100,
            ...(cachedInputTokens !== undefined && { cachedInputTokens }),
          },
          failures: [],
        },
      ],
    });
    const trace = (...visits: TraceVisit[]): RunTrace => ({
      version: 1,
      agentId: "a",
      runId: "r",
      status: "completed",
      input: 1,
      visits,
    });
    const prices = { models: { small: { input: 1, output: 10, cachedInput: 0.1 }, large: { input: 3, output: 10 } } };
    const { before, after, isSame } = compareRuns(
      trace(visit("small"), visit("small", 500)),
      trace(visit("large", 500), visit("none")),
      { prices },
    );
    expect(isSame).toBe(true);
    expect(before).toMatchObject({
      models: ["small"],
      usage: { inputTokens: 2_000, outputTokens: 200, totalTokens: 2_200, cachedInputTokens: 500 },
      cost: { currency: "USD", unpriced: 0 },
    });
    expect(before.cost?.amount).toBeCloseTo(0.002 + 0.001_55);
    expect(after.cost).toMatchObject({ amount: expect.closeTo(0.004), unpriced: 1 });
  });

  it("is the comparison of a run with itself for any pair of runs exactly if they are the same", () => {
    const visits = fc.array(
      fc.record({
        node: fc.constantFrom("a", "b", "c"),
        output: fc.constantFrom(1, 2),
        calls: fc.array(fc.constantFrom("x", "y"), { maxLength: 3 }),
      }),
      { maxLength: 12 },
    );
    const trace = (
      all: readonly { readonly node: string; readonly output: number; readonly calls: readonly string[] }[],
    ): RunTrace => ({
      version: 1,
      agentId: "a",
      runId: "r",
      status: "completed",
      input: 1,
      visits: all.map(({ node, output, calls }, at) => ({
        node,
        output,
        state: "ended",
        requests: [],
        waits: [],
        messages: { added: [], removed: [] },
        calls: calls.map((item, call) => ({
          toolCallId: `${at}-${call}`,
          tool: "add",
          effect: "none",
          state: "succeeded",
          input: { item },
        })),
      })),
    });
    fc.assert(
      fc.property(visits, visits, (one, other) => {
        const comparison = compareRuns(trace(one), trace(other));
        const indexes = (side: "before" | "after") => comparison.steps.flatMap((step) => step[side]?.index ?? []);
        expect(indexes("before")).toEqual(one.map((_visit, index) => index));
        expect(indexes("after")).toEqual(other.map((_visit, index) => index));
        expect(comparison.isSame).toBe(JSON.stringify(one) === JSON.stringify(other));
        const back = compareRuns(trace(other), trace(one)).calls;
        const { same, changed, added, removed } = comparison.calls;
        expect(same + changed + removed).toBe(comparison.before.calls);
        expect(same + changed + added).toBe(comparison.after.calls);
        expect(back.same + back.changed + back.removed).toBe(comparison.after.calls);
      }),
    );
  });

  it("shows how many messages a node removes from the history", async () => {
    const trimmed = async (kept: number) => {
      const graph = strategy<string, string>("trimming", (g) => {
        const fill = g.node("fill", (_input: string, context) => {
          for (const content of ["one", "two", "three"]) context.llm.append({ role: "user", content });
          return "filled";
        });
        const trim = g.node("trim", (input: string, context) => {
          context.llm.rewrite((messages) => messages.slice(-kept));
          return input;
        });
        g.edge(g.start, fill);
        g.edge(fill, trim);
        g.edge(trim, g.finish);
      });
      const storage = new InMemoryPersistenceStorageProvider();
      await durableAgent(graph, storage).run("hello");
      return readRunTrace(storage, { agentId: "a" });
    };
    const comparison = compareRuns(await trimmed(2), await trimmed(1));
    expect(comparison).toMatchObject({ isSame: false, firstDivergence: 1 });
    expect(comparison.steps[1]).toMatchObject({ change: "changed", removedMessages: { before: 1, after: 2 } });
    expect(compareRuns(await trimmed(2), await trimmed(2)).isSame).toBe(true);
  });

  it("refuses values that are not runs, and unknown options", () => {
    expect(() => compareRuns({} as never, {} as never)).toThrow("first run of compareRuns()");
    const run: RunTrace = { version: 1, agentId: "a", runId: "r", status: "completed", input: 1, visits: [] };
    expect(() => compareRuns(run, run, { price: {} } as never)).toThrow("options of compareRuns()");
  });
});
