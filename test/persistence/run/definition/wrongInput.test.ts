import {
  AIAgent,
  Persistence,
  persistence,
  RollbackToolRegistry,
  storageKey,
  strategy,
  tool,
  triggers,
  type AgentContext,
} from "agent-persistence";
import { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { scriptedModel } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { logStorages } from "../../support/storages.ts";
import { recordsOf } from "../../support/stored.ts";

/** Whatever JavaScript may hand over, the types notwithstanding. */
const wrong = (value: unknown): never => value as never;

const promptExecutor = scriptedModel([]);
const config = { promptExecutor, llmModel: "m" };
const schema = z.object({});
const book = tool({ name: "book", description: "", inputSchema: schema, execute: () => 1 });
const plain = { name: "t", description: "", inputSchema: schema, execute: () => 1 };
const define = (given: object) => () => new AIAgent(wrong({ ...config, ...given }));
const install = (given: unknown) => () => new AIAgent(config).install(Persistence, wrong(given));
const build = (given: (graph: never) => void) => () => strategy<string, string>("s", wrong(given));

/** What is refused, the path of the problem, and the call. */
const definitions: readonly (readonly [string, string, () => unknown])[] = [
  ["an agent without a configuration", "", () => new AIAgent(wrong(undefined))],
  ["an agent without an executor", "promptExecutor", define({ promptExecutor: {} })],
  ["an agent without a model", "llmModel", define({ llmModel: "" })],
  ["tools that are not a list", "tools", define({ tools: book })],
  ["an invalid tool", "tools.0", define({ tools: [undefined] })],
  ["a tool that cannot run", "tools.0.execute", define({ tools: [{ ...plain, execute: 1 }] })],
  ["an iteration limit that is not a number", "maxIterations", define({ maxIterations: Number.NaN })],
  ["half an iteration", "maxIterations", define({ maxIterations: 1.5 })],
  ["a limit that is text", "maxIterations", define({ maxIterations: "5" })],
  ["a system prompt that is not text", "systemPrompt", define({ systemPrompt: 5 })],
  ["parameters that are not an object", "modelParameters", define({ modelParameters: "hot" })],
  ["an invalid strategy", "strategy", define({ strategy: {} })],
  ["an invalid feature", "", () => new AIAgent(config).install(wrong(undefined))],
  ["a tool without a definition", "", () => tool(wrong(undefined))],
  ["a tool without a name", "name", () => tool({ ...plain, name: "" })],
  ["a tool without a zod schema", "inputSchema", () => tool(wrong({ ...plain, inputSchema: { type: "object" } }))],
  ["an invalid effect", "effect", () => tool({ ...plain, effect: wrong("idempotant") })],
  ["a storage key without a schema", "schema", () => storageKey("k", wrong(undefined))],
  ["an invalid storage", "storage", install({ storage: {} })],
  ["a storage that is null", "storage", install({ storage: null })],
  ["a configuration that is text", "", install("memory")],
  ["a switch that is text", "enableAutomaticPersistence", install({ enableAutomaticPersistence: "no" })],
  ["triggers that are not a list", "triggers", install({ triggers: triggers.interval() })],
  ["an invalid trigger", "triggers.0", install({ triggers: [triggers.interval] })],
  ...["after_node", "run_started", "run_ended", "line_started", "joined", "unresolved", "asked_for", "rollback"].map(
    (name) =>
      [
        `a trigger named ${name}`,
        "triggers.0.name",
        install({ triggers: [{ name, priority: "high", isDue: () => true }] }),
      ] as const,
  ),
  ["an invalid registry", "rollbackToolRegistry", install({ rollbackToolRegistry: {} })],
  ["an invalid participant", "participants.0", install({ participants: [5] })],
  ["an invalid onToolCallInDoubt", "onToolCallInDoubt", install({ onToolCallInDoubt: "again" })],
  ["zero attempts", "inverseRetry.attempts", install({ inverseRetry: { attempts: 0 } })],
  ["an invalid delay", "inverseRetry.delayMs", install({ inverseRetry: { delayMs: -1 } })],
  ["an invalid grace", "abortGraceMs", install({ abortGraceMs: Number.NaN })],
  ["an invalid listener", "onEvent", install({ onEvent: "log" })],
  ["an invalid size", "maxCheckpointBytes", install({ maxCheckpointBytes: -1 })],
  ["an invalid trimming", "trimming.messages", install({ trimming: { messages: Number.NaN } })],
  ["an invalid environment", "environment", install({ environment: 5 })],
  ["an invalid retention", "retention.maxCheckpoints", install({ retention: { maxCheckpoints: 1 } })],
  ["an invalid clock", "clock", install({ clock: Date })],
  ["an invalid interval", "everyMs", () => triggers.interval({ everyMs: Number.NaN })],
  ["an invalid growth", "bytes", () => triggers.contextDelta({ bytes: -1 })],
  ["an inverse without a tool", "tool", () => new RollbackToolRegistry().registerRollback(wrong(undefined), () => 1)],
  ["an invalid inverse", "inverse", () => new RollbackToolRegistry().registerRollback(book, wrong(undefined))],
  ["an invalid log", "", () => new LogPersistenceStorageProvider(wrong(undefined))],
  ["persistence without an agent", "", () => persistence(wrong({}))],
  ["a misspelled storage", "", install({ storge: {} })],
  ["a misspelled limit of a trimming", "trimming", install({ trimming: { mesages: 5 } })],
  ["a misspelled limit of a retention", "retention", install({ retention: { maxCheckpoint: 5 } })],
  ["a misspelled number of attempts", "inverseRetry", install({ inverseRetry: { attempt: 5 } })],
  ["a misspelled interval", "", () => triggers.interval(wrong({ everyMS: 5 }))],
  ["a misspelled growth", "", () => triggers.contextDelta(wrong({ byte: 5 }))],
  [
    "a misspelled effect",
    "options",
    () => new RollbackToolRegistry().registerRollback(book, () => 1, wrong({ efect: "none" })),
  ],
];

it("the name of a trigger is refused with the call that makes the trigger", () => {
  expect(install({ triggers: ["afterNode"] })).toThrow(
    'at "triggers.0": expected a trigger such as triggers.afterNode()',
  );
});

it.each(definitions)("invalid input is refused with its path: %s", (_name, path, call) => {
  expect(call).toThrow(
    expect.objectContaining({ code: "invalid_input", problems: [expect.objectContaining({ path })] }),
  );
});

it.each([
  ["a node without a function", build((graph: { node(name: string): void }) => graph.node("n"))],
  ["an invalid schema of a node", build((g: { node(...a: unknown[]): void }) => g.node("n", { input: 5 }, () => 1))],
  ["an invalid subgraph", build((graph: { subgraph(name: string): void }) => graph.subgraph("n"))],
  ["a strategy without a function", () => strategy("s", wrong(undefined))],
  ["a strategy with only a name", () => (strategy as (name: string) => unknown)("s")],
  [
    "a condition that is not a function",
    build((g: { edge(...a: unknown[]): void; start: object; finish: object }) =>
      g.edge(g.start, g.finish, { when: "done" }),
    ),
  ],
])("invalid input in a strategy is refused: %s", (_name, call) => {
  expect(call).toThrow(expect.objectContaining({ code: "invalid_strategy" }));
});

const asked = { prompt: "p", schema: z.string() };

const graph = strategy<string, string>("s", (s) => {
  const node = s.node("node", async (text: string) => text);
  s.edge(s.start, node);
  s.edge(node, s.finish);
});

type Verb = (agent: AIAgent) => unknown;

const durable = (agent: AIAgent) => persistence(agent).agent("a");

const verbs: readonly (readonly [string, string, Verb])[] = [
  ["run with an invalid unfinished", "unfinished", (agent) => agent.run("y", { unfinished: wrong("typo") })],
  ["run with an invalid history", "history", (agent) => agent.run("y", { history: wrong("typo") })],
  ["run with an empty runId", "runId", (agent) => agent.run("y", { runId: "" })],
  ["run with an invalid signal", "signal", (agent) => agent.run("y", { signal: wrong({}) })],
  ["run with text as options", "", (agent) => agent.run("y", wrong("a"))],
  ["resume with text for options", "", (agent) => agent.resume(wrong("a"))],
  ["resume with an invalid checkpoint", "checkpointId", (agent) => agent.resume({ checkpointId: "" })],
  ["resume with invalid answers", "answers", (agent) => agent.resume({ answers: wrong([]) })],
  ["resume only in an unknown status", "ifStatus.0", (agent) => agent.resume({ ifStatus: [wrong("done")] })],
  ["resume only in a text", "ifStatus", (agent) => agent.resume({ ifStatus: wrong("completed") })],
  ["resume with an invalid verification", "verify", (agent) => agent.resume({ verify: wrong(5) })],
  ["rollback without a checkpoint", "", (agent) => durable(agent).rollbackToCheckpoint(wrong(undefined))],
  ["rollback to an empty id", "", (agent) => durable(agent).rollbackToCheckpoint("")],
  ["rollback to an object", "", (agent) => durable(agent).rollbackToCheckpoint(wrong({ checkpointId: "1-1" }))],
  ["rollback with text for options", "", (agent) => durable(agent).rollbackToLatestCheckpoint(wrong("default"))],
  ["execution point without options", "", (agent) => durable(agent).setExecutionPoint(wrong(undefined))],
  [
    "execution point without a node",
    "nodeId",
    (agent) => durable(agent).setExecutionPoint({ nodeId: wrong(null), input: 1 }),
  ],
  ["validation of an invalid id", "", (agent) => durable(agent).validateCheckpoint(wrong({}))],
  ["answer with an invalid timeout", "timeoutMs", (agent) => durable(agent).answer("r", 1, { timeoutMs: Number.NaN })],
  ["answer to a request that is a symbol", "", (agent) => durable(agent).answer(wrong(Symbol("r")), 1)],
  ["settlement of a call that is a symbol", "", (agent) => durable(agent).settleToolCall(wrong(Symbol("c")), "retry")],
  ["cancellation with an invalid reason", "", (agent) => durable(agent).cancel(wrong(5))],
  ["restart with text for options", "", (agent) => durable(agent).restart(wrong("now"))],
  ["filter that is text", "", (agent) => durable(agent).getCheckpoints(wrong("node"))],
  ["filter with an invalid limit", "limit", (agent) => durable(agent).getCheckpoints({ limit: -1 })],
  ["list with text for options", "", (agent) => persistence(agent).unfinished(wrong("failed")).next()],
  ["pruning at an invalid time", "now", (agent) => persistence(agent).prune({ now: Number.NaN })],
  ["pruning of an empty id", "agentId", (agent) => persistence(agent).prune({ agentId: "" })],
  [
    "rollback with a misspelled option",
    "",
    (agent) => durable(agent).rollbackToLatestCheckpoint(wrong({ rollbackStrat: "default" })),
  ],
  [
    "execution point with a misspelled option",
    "",
    (agent) => durable(agent).setExecutionPoint(wrong({ nodeId: "node", input: "x", messages: [] })),
  ],
  ["answer with a misspelled option", "", (agent) => durable(agent).answer("r", 1, wrong({ timeout: 5 }))],
  ["cancellation with a misspelled option", "", (agent) => durable(agent).cancel("r", wrong({ timeout: 5 }))],
  ["messages with a misspelled option", "", (agent) => durable(agent).getMessages(wrong({ originals: true }))],
  ["restart with a misspelled option", "", (agent) => durable(agent).restart(wrong({ prepareStore: () => 1 }))],
  [
    "list with a misspelled option",
    "",
    (agent) =>
      persistence(agent)
        .unfinished(wrong({ includeFail: true }))
        .next(),
  ],
  ["pruning with a misspelled option", "", (agent) => persistence(agent).prune(wrong({ dryrun: true }))],
  [
    "pruning by a misspelled policy",
    "policy",
    (agent) => persistence(agent).prune({ policy: wrong({ failedDay: 5 }) }),
  ],
  ["pruning with an invalid policy", "policy", (agent) => persistence(agent).prune({ policy: wrong(5) })],
];

type Use = (context: AgentContext) => unknown;

const uses: readonly (readonly [string, string, Use])[] = [
  ["request without options", "", (context) => context.requestInput(wrong(undefined))],
  ["request without a prompt", "prompt", (context) => context.requestInput(wrong({ schema: z.string() }))],
  ["request without a schema", "schema", (context) => context.requestInput(wrong({ prompt: "p" }))],
  [
    "request with an invalid waitingFor",
    "waitingFor",
    (context) => context.requestInput({ ...asked, waitingFor: wrong("") }),
  ],
  [
    "request with an invalid expiry",
    "expiresAt",
    (context) => context.requestInput({ ...asked, expiresAt: new Date(NaN) }),
  ],
  [
    "checkpoint with a misspelled option",
    "",
    (context) => persistence(context).createCheckpoint(wrong({ checkpontId: "c" })),
  ],
  [
    "checkpoint before an unknown node",
    "nodeId",
    (context) => persistence(context).createCheckpoint(wrong({ nodeId: 5 })),
  ],
  [
    "rollback with a misspelled option",
    "",
    (context) => persistence(context).rollbackToLatestCheckpoint(wrong({ strategy: "default" })),
  ],
  ["note without a key", "key", async (context) => persistence(context).note(wrong({ value: 1 }))],
  [
    "note with a misspelled option",
    "",
    async (context) => persistence(context).note(wrong({ key: "k", value: 1, content: 5 })),
  ],
  ["rollback without a checkpoint", "", (context) => persistence(context).rollbackToCheckpoint(wrong(undefined))],
  [
    "execution point without a node",
    "nodeId",
    (context) => persistence(context).setExecutionPoint(wrong({ input: 1 })),
  ],
];

it("an agent as a tool and an approval as a word are refused with advice", () => {
  expect(define({ tools: [new AIAgent(config)] })).toThrow(
    'at "tools.0": expected a tool, received an AIAgent. Pass agent.asTool({ … })',
  );
  expect(() => tool({ ...plain, needsApproval: wrong("always") })).toThrow(
    'at "needsApproval": expected true, false or a function, received string',
  );
});

describe.each(logStorages)("invalid input, on storage in $name", ({ open }) => {
  it.each(verbs)("is refused and changes nothing: %s", async (_name, path, verb) => {
    const storage = (await open())();
    const agent = new AIAgent({ ...config, id: "a", strategy: graph }).install(Persistence, { storage });
    await agent.run("x");
    const before = await recordsOf(storage);
    await expect(Promise.resolve().then(() => verb(agent))).rejects.toMatchObject({
      code: "invalid_input",
      problems: [{ path }],
    });
    expect(await recordsOf(storage)).toEqual(before);
  });

  it.each(uses)("in a node is refused and changes nothing: %s", async (_name, path, use) => {
    const storage = (await open())();
    const caught: unknown[] = [];
    const strategyThatCatches = strategy<string, string>("s", (s) => {
      const node = s.node("node", async (text: string, context) => {
        await Promise.resolve(use(context)).catch((error: unknown) => caught.push(error));
        return text;
      });
      s.edge(s.start, node);
      s.edge(node, s.finish);
    });
    const agent = new AIAgent({ ...config, id: "a", strategy: strategyThatCatches }).install(Persistence, { storage });
    expect(await agent.run("x")).toMatchObject({ status: "completed", output: "x" });
    expect(caught).toMatchObject([{ code: "invalid_input", problems: [{ path }] }]);
  });

  it("a request whose expiry has passed expires at once", async () => {
    const storage = (await open())();
    const late = strategy<string, string>("s", (s) => {
      const node = s.node("node", (_text: string, context) =>
        context.requestInput({ ...asked, expiresAt: new Date(0) }),
      );
      s.edge(s.start, node);
      s.edge(node, s.finish);
    });
    const agent = new AIAgent({ ...config, id: "a", strategy: late }).install(Persistence, { storage });
    await expect(agent.run("x")).rejects.toMatchObject({ code: "request_expired" });
  });
});

it.each([
  [null, "found null"],
  [5, "found 5"],
  [Promise.resolve("a"), "found a Promise (did you forget `await`?)"],
])("an agent id that is not a text is named: %s", async (agentId, found) => {
  const run = new AIAgent(config).run("x", { agentId: wrong(agentId) });
  await expect(run).rejects.toMatchObject({ code: "invalid_agent_id", message: expect.stringContaining(found) });
});
