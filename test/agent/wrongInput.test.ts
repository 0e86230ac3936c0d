import { expect, it } from "vitest";
import { z } from "zod";
import { Persistence } from "../../src/persistence/Persistence.ts";
import { AIAgent } from "../../src/agent/AIAgent.ts";
import type { AgentContext } from "../../src/agent/context/AgentContext.ts";
import type { RunState } from "../../src/agent/state/RunState.ts";
import { strategy } from "../../src/agent/strategy/Strategy.ts";
import { tool, type AnyTool } from "../../src/agent/tool/Tool.ts";
import { printEvents } from "../../src/listeners/printEvents.ts";
import { scriptedModel } from "../../src/testing/doubles/scriptedModel.ts";
import { testFeature } from "./testFeature.ts";

/** A value that its type forbids, as plain JavaScript may pass it. */
const wrong = (value: unknown): never => value as never;

const config = { promptExecutor: scriptedModel(["answer"]), llmModel: "m" };
const schema = z.string();
const plain = { name: "t", description: "", inputSchema: schema, execute: (text: string) => text };

interface LooseGraph {
  readonly start: object;
  readonly finish: object;
  node(...given: unknown[]): object;
  edge(...given: unknown[]): void;
}

const build = (change: (graph: LooseGraph) => void) =>
  strategy<string, string>("s", (graph) => {
    graph.edge(graph.start, graph.finish);
    change(graph as never);
  });

/** Installs a feature that registers one hook wrongly. */
const hook = (name: "onAgentCompleted" | "aroundRun" | "claim" | "limitAborts", given: unknown) => () =>
  new AIAgent(config).install(testFeature((pipeline) => (pipeline[name] as (hook: unknown) => void)(given)));

/** What is wrong, a part of the problem that names the mistake and its remedy, and the call. */
const definitions: readonly (readonly [string, string, () => unknown])[] = [
  [
    "a misspelled option of an agent",
    'unknown option "maxIteration"; did you mean "maxIterations"',
    () => new AIAgent(wrong({ ...config, maxIteration: 1 })),
  ],
  [
    "an unknown option of an agent",
    'unknown option "xyz"; the options are id, promptExecutor, llmModel',
    () => new AIAgent(wrong({ ...config, xyz: 1 })),
  ],
  [
    "a model in place of an executor",
    "expected an object with execute, such as aiSdkExecutor(…), received string",
    () => new AIAgent(wrong({ ...config, promptExecutor: "gpt" })),
  ],
  [
    "a misspelled member of a tool",
    'unknown option "efect"; did you mean "effect"',
    () => tool(wrong({ ...plain, efect: "none" })),
  ],
  [
    "a JSON Schema in place of a Zod schema",
    "expected a Zod schema, received object",
    () => tool(wrong({ ...plain, inputSchema: { type: "object" } })),
  ],
  [
    "a misspelled schema of a node",
    'unknown option "ouput"; did you mean "output"',
    () => build((graph) => graph.node("n", { ouput: schema }, () => 1)),
  ],
  [
    "a node whose options are null",
    "expected a plain object, received null",
    () => build((graph) => graph.node("n", null, () => 1)),
  ],
  [
    "a misspelled condition of an edge",
    'unknown option "whn"; did you mean "when"',
    () => build((graph) => graph.edge(graph.start, graph.finish, { whn: () => true })),
  ],
  [
    "an edge whose options are null",
    "expected a plain object, received null",
    () => build((graph) => graph.edge(graph.start, graph.finish, null)),
  ],
  [
    "a misspelled schema of a strategy",
    'unknown option "inputs"; did you mean "input"',
    () => strategy("s", wrong({ inputs: schema, output: schema }), () => undefined),
  ],
  [
    "a strategy whose schemas are null",
    "expected a plain object, received null",
    () => strategy("s", wrong(null), () => 1),
  ],
  [
    "a strategy without a name",
    "expected string",
    () => strategy<string, string>(wrong(undefined), (graph) => graph.edge(graph.start, graph.finish)),
  ],
  [
    "a feature without a key",
    "expected string",
    () => new AIAgent(config).install(wrong({ install: () => undefined })),
  ],
  ["a feature that cannot be installed", "expected a function", () => new AIAgent(config).install(wrong({ key: "k" }))],
  ["an invalid listener", "expected a function, received undefined", hook("onAgentCompleted", undefined)],
  ["events printed without a function", "expected a function, received undefined", () => printEvents(wrong(undefined))],
  ["an invalid interceptor", "expected a function, received object", hook("aroundRun", {})],
  ["a claim of no option", 'expected one of "resume"', hook("claim", "resum")],
  ["a grace period without a clock", "expected an object with now", hook("limitAborts", { ms: 5 })],
  ["a tool whose name models refuse", "expected 1 to 64 letters", () => tool({ ...plain, name: "sign up" })],
  ["a tool whose name is too long", "expected 1 to 64 letters", () => tool({ ...plain, name: "t".repeat(65) })],
];

it("an invalid tool is named", () => {
  expect(() => tool(wrong({ ...plain, effect: "safe" }))).toThrow(
    'Invalid tool "t": at "effect": expected one of none, idempotent, reversible, irreversible, received "safe"',
  );
});

it.each(definitions)("invalid options are refused with an explanation: %s", (_name, problem, call) => {
  expect(call).toThrow(
    expect.objectContaining({
      code: "invalid_input",
      problems: [expect.objectContaining({ expected: expect.stringContaining(problem) as unknown })],
    }),
  );
});

const install = (options: unknown) => () => new AIAgent(config).install(Persistence, wrong(options));

/** What counts as options, and was once taken for none. */
it.each<readonly [string, string, () => unknown]>([
  ["a Promise for Persistence", "received a Promise (did you forget `await`?)", install(Promise.resolve({}))],
  ["null for Persistence", "received null", install(null)],
  ["a storage in place of options", "received an instance of Inherited", install(new (class Inherited {})())],
  ["an array for an agent", "received array", () => new AIAgent(wrong([]))],
  ["an instance of a class for a tool", "received an instance of Own", () => tool(new (class Own {})() as never)],
  ["a Map for a node", "received a Map", () => build((graph) => graph.node("n", new Map(), () => 1))],
  ["a Date for an edge", "received a Date", () => build((graph) => graph.edge(graph.start, graph.finish, new Date()))],
])("options that are not a plain object are refused: %s", (_name, problem, given) => {
  expect(given).toThrow(
    expect.objectContaining({ problems: [{ path: "", expected: `expected a plain object, ${problem}` }] }),
  );
});

it.each([undefined, null, 5, { role: "user", content: "x" }])(
  "the default strategy explains the input of run() when given %j",
  async (input) => {
    await expect(new AIAgent(config).run(wrong(input))).rejects.toMatchObject({
      code: "invalid_input",
      subject: 'input of strategy "default"',
      problems: [{ path: "", expected: expect.stringContaining("expected a text, received") }],
    });
  },
);

it("a tool of another library may contain additional members", async () => {
  const foreign = { ...plain, provider: "another library" } as unknown as AnyTool;
  expect(await new AIAgent({ ...config, tools: [foreign] }).run("x")).toMatchObject({ output: "answer" });
});

const verbs: readonly (readonly [string, string, (agent: AIAgent) => Promise<unknown>])[] = [
  [
    "a misspelled option of run()",
    'unknown option "agentID"; did you mean "agentId"',
    (agent) => agent.run("x", wrong({ agentID: "a" })),
  ],
  [
    "an option of run() that is one of resume()",
    'unknown option "checkpointId"',
    (agent) => agent.run("x", wrong({ checkpointId: "1" })),
  ],
  [
    "a misspelled option of resume()",
    'unknown option "checkpointID"; did you mean "checkpointId"',
    (agent) => agent.resume(wrong({ checkpointID: "1" })),
  ],
  [
    "an option of resume() that is one of run()",
    'unknown option "runId"',
    (agent) => agent.resume(wrong({ runId: "1" })),
  ],
];

it.each(verbs)("invalid options are refused before the run starts: %s", async (_name, problem, call) => {
  const begun: unknown[] = [];
  const agent = new AIAgent(config).install(
    testFeature((pipeline) => {
      pipeline.claim("resume", "runId");
      pipeline.aroundRun(async (request, next) => (begun.push(request), next(request)));
    }),
  );
  await expect(call(agent)).rejects.toMatchObject({
    code: "invalid_input",
    problems: [{ expected: expect.stringContaining(problem) as unknown }],
  });
  expect(begun).toEqual([]);
});

const asked = { prompt: "p", schema };

const call = (called: unknown) => (context: AgentContext) => context.tools.call<unknown, unknown>(wrong(called), {});
const notMade = "expected what storageKey(name, schema) returned, received string";

/** What is wrong, where, and a part of the problem. */
const uses: readonly (readonly [string, string, string, (context: AgentContext) => unknown])[] = [
  [
    "a misspelled member of a request",
    "",
    'unknown option "expireAt"; did you mean "expiresAt"',
    (context) => context.requestInput(wrong({ ...asked, expireAt: new Date() })),
  ],
  ["invalid settings", "", "expected a plain object", ({ llm }) => llm.configure(wrong(undefined))],
  ["no feature", "", "received undefined", (context) => context.feature(wrong(undefined))],
  ["the name of a tool", "", 'expected a tool, received string "t"; pass the tool itself', call("t")],
  ["no tool", "", "expected a tool, received undefined; pass the tool itself", call(undefined)],
  ["an object that is not a tool", "", "expected a tool, received object", call({ name: "t" })],
  ["a tool that is awaited too late", "", "expected a tool, received a Promise", call(Promise.resolve(plain))],
  ["a value read by text", "", notMade, ({ storage }) => storage.get(wrong("cart"))],
  ["a value set by text", "", notMade, ({ storage }) => storage.set(wrong("cart"), wrong(1))],
  ["a value deleted by text", "", notMade, ({ storage }) => storage.delete(wrong("cart"))],
  ["a value of no key", "", "received undefined", ({ storage }) => storage.get(wrong(undefined))],
  ["a misspelled setting", "", 'did you mean "model"', ({ llm }) => llm.configure(wrong({ modell: "n" }))],
  ["a model without a name", "model", "", ({ llm }) => llm.configure({ model: "" })],
  ["parameters that are text", "parameters", "", ({ llm }) => llm.configure({ parameters: wrong("hot") })],
  ["tools that are not a list", "tools", "expected array", ({ llm }) => llm.configure({ tools: wrong(plain) })],
  ["a tool that is a name", "tools.0", "expected object", ({ llm }) => llm.configure({ tools: [wrong("t")] })],
  ["options of a request that are text", "", "expected a plain object", ({ llm }) => llm.request(wrong("fast"))],
  ["a misspelled option of a request", "", 'did you mean "tools"', ({ llm }) => llm.request(wrong({ tool: [] }))],
  ["an invalid model of a request", "model", "expected string", ({ llm }) => llm.request({ model: wrong(5) })],
  ["progress that is text", "percent", "from 0 to 100", (context) => context.setProgress(wrong("5"))],
  ["progress that is not a number", "percent", "from 0 to 100", (context) => context.setProgress(Number.NaN)],
  ["progress beyond the end", "percent", "from 0 to 100", (context) => context.setProgress(101)],
  ["a summary that is not text", "summary", "expected string", (context) => context.setProgress(5, wrong(5))],
  ["no decision", "", "expected a plain object", (context) => context.recordDecision(wrong(undefined))],
  ["a decision without text", "decision", "expected string", (context) => context.recordDecision(wrong({}))],
  [
    "a misspelled member of a decision",
    "",
    'unknown option "reasons"; did you mean "reason"',
    (context) => context.recordDecision(wrong({ decision: "d", reasons: "r" })),
  ],
  ["invalid needs", "", "expected a plain object", (context) => context.require(wrong(undefined))],
  ["a misspelled need", "", 'did you mean "files"', (context) => context.require(wrong({ file: ["f"] }))],
  ["a file that is text", "files", "expected array", (context) => context.require({ files: wrong("f") })],
  ["a file that is not a path", "files.0", "expected string", (context) => context.require({ files: [wrong(5)] })],
  [
    "a version that is a number",
    "environment.node",
    "expected string",
    (context) => context.require({ files: ["f"], environment: { node: wrong(20) } }),
  ],
];

it.each(uses)("invalid input in a node is refused and changes nothing: %s", async (_name, path, problem, use) => {
  const caught: unknown[] = [];
  let asks = 0;
  const agent = new AIAgent({
    ...config,
    promptExecutor: { execute: async () => (asks++, { message: { role: "assistant", content: "answer" } }) },
    tools: [tool(plain)],
    strategy: strategy<string, string>("s", (graph) => {
      const node = graph.node("node", async (text: string, context) => {
        try {
          await use(context);
        } catch (error) {
          caught.push(error);
        }
        return text;
      });
      graph.edge(graph.start, node);
      graph.edge(node, graph.finish);
    }),
  });
  const states: unknown[] = [];
  agent.install(
    testFeature((pipeline) => {
      pipeline.claim("requestInput");
      pipeline.onNodeStarting(({ run: { state } }) => void states.push(stateOf(state)));
      pipeline.onNodeCompleted(({ run: { state } }) => void states.push(stateOf(state)));
    }),
  );
  expect(await agent.run("x")).toMatchObject({ status: "completed", output: "x" });
  expect(caught).toMatchObject([
    { code: "invalid_input", problems: [{ path, expected: expect.stringContaining(problem) as unknown }] },
  ]);
  expect(asks).toBe(0);
  const [before, after] = states;
  expect(after).toEqual(before);
});

function stateOf(state: RunState): unknown {
  const { settings, progress, progressSummary, requirements, decisions } = state;
  return { settings, progress, progressSummary, requirements, decisions: [...decisions] };
}
