import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  strategy,
  tool,
  type AgentContext,
  type PromptExecutor,
} from "agent-persistence";
import { replayRun } from "agent-persistence/replay";
import { describe, expect, it } from "vitest";
import { z } from "zod";

type Body = (input: string, context: AgentContext) => Promise<string>;

const quick = tool({
  name: "quick",
  description: "",
  inputSchema: z.object({ item: z.string() }),
  effect: "none",
  execute: ({ item }) => item,
});

const model: PromptExecutor = { execute: async () => ({ message: { role: "assistant", content: "done" } }) };

function agentOf(
  storage: InMemoryPersistenceStorageProvider,
  bodies: readonly Body[],
  isSparse = false,
  maxIterations = 50,
): AIAgent<string, string> {
  const graph = strategy<string, string>("chain", (g) => {
    const nodes = bodies.map((body, at) => g.node(`n${at}`, body));
    nodes.forEach((node, at) => g.edge(nodes[at - 1] ?? g.start, node));
    const last = nodes.at(-1);
    if (last) g.edge(last, g.finish);
  });
  const common = { id: "a", promptExecutor: model, llmModel: "small", tools: [quick] };
  return new AIAgent({ ...common, strategy: graph, maxIterations }).install(Persistence, {
    storage,
    enableAutomaticPersistence: !isSparse,
  });
}

/** Records a run of the first bodies, and replays it with the second ones. */
async function replayed(recorded: readonly Body[], changed = recorded, isSparse = false) {
  const storage = new InMemoryPersistenceStorageProvider();
  await agentOf(storage, recorded, isSparse)
    .run("go", { runId: "r" })
    .catch(() => undefined);
  return replayRun(agentOf(storage, changed, isSparse), { storage, agentId: "a" });
}

const call: Body = (item, context) => context.tools.call(quick, { item });
const same: Body = async (input) => input;
const fails =
  (message: string): Body =>
  async () => {
    throw new RangeError(message);
  };

describe("a request that lost a race", () => {
  const races: readonly [string, Body][] = [
    [
      "sleep",
      async (input, context) => {
        await Promise.race([context.sleep(60_000), call(input, context)]);
        return input;
      },
    ],
    [
      "request for input",
      async (input, context) => {
        const asked = context.requestInput({ prompt: "Sure?", schema: z.string() });
        await Promise.race([asked, call(input, context)]);
        return input;
      },
    ],
    [
      "receipt",
      async (input, context) => {
        const received = context.receive("paid", { schema: z.string(), timeoutMs: 60_000 });
        await Promise.race([received, call(input, context)]);
        return input;
      },
    ],
  ];

  it.each(races)("does not end the replay: %s", async (_name, race) => {
    const turns: Body = async (input, context) => {
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
      await context.llm.request();
      return input;
    };
    expect(await replayed([race, turns, call])).toMatchObject({ matches: true, status: "completed", output: "go" });
    const other = await replayed([race, turns, same], [race, turns, async () => "other"]);
    expect(other).toMatchObject({ matches: false, divergence: { what: "output", nodeId: "n2" } });
  });

  it("diverges if the node now waits for it", async () => {
    const [, race = same] = races[0] ?? [];
    const waits: Body = async (input, context) => {
      await Promise.all([context.sleep(60_000), call(input, context)]);
      return input;
    };
    expect(await replayed([race, call], [waits, call])).toMatchObject({
      matches: false,
      divergence: { what: "input", nodeId: "n0" },
    });
  });
});

describe("a failed run", () => {
  it("matches with the recorded error", async () => {
    expect(await replayed([call, fails("broken")])).toMatchObject({ matches: true, status: "failed" });
  });

  it("diverges with another error, and without an error", async () => {
    const expected = { name: "RangeError", message: "broken" };
    const other = await replayed([call, fails("broken")], [call, fails("other")]);
    expect(other.divergence).toMatchObject({ what: "failure", nodeId: "n1", expected, actual: { message: "other" } });
    const healed = await replayed([call, fails("broken")], [call, same]);
    expect(healed).toMatchObject({ matches: false, divergence: { what: "failure", nodeId: "n1", expected } });
  });
});

describe("an error outside of nodes", () => {
  const twoEdges = (storage: InMemoryPersistenceStorageProvider, next: string, pauses = false) => {
    const graph = strategy<string, string>("edges", (g) => {
      const first = g.node("first", async (input: string, context: AgentContext) => {
        if (pauses) await context.requestInput({ prompt: "Sure?", schema: z.string() });
        return input;
      });
      g.edge(g.start, first, { when: (input) => input === next });
      g.edge(first, g.finish);
    });
    const common = { id: "a", promptExecutor: model, llmModel: "small" };
    return new AIAgent({ ...common, strategy: graph }).install(Persistence, { storage });
  };

  it.each([
    ["completed", false],
    ["waiting", true],
  ])("diverges from a %s run", async (_status, pauses) => {
    const storage = new InMemoryPersistenceStorageProvider();
    await twoEdges(storage, "go", pauses).run("go", { runId: "r" });
    expect(await replayRun(twoEdges(storage, "go", pauses), { storage, agentId: "a" })).toMatchObject({
      matches: true,
    });
    expect(await replayRun(twoEdges(storage, "other", pauses), { storage, agentId: "a" })).toMatchObject({
      matches: false,
      divergence: { what: "failure", nodeId: "start", actual: { name: "NoMatchingEdgeError" } },
    });
  });
});

it.each([false, true])("a replay executes at most maxIterations nodes (few checkpoints: %s)", async (isSparse) => {
  const storage = new InMemoryPersistenceStorageProvider();
  const bodies = [same, call, same];
  await agentOf(storage, bodies, isSparse).run("go", { runId: "r" });
  const limited = (maxIterations: number) =>
    replayRun(agentOf(storage, bodies, isSparse, maxIterations), { storage, agentId: "a" });
  expect(await limited(3)).toMatchObject({ matches: true, status: "completed" });
  expect((await limited(2)).divergence).toMatchObject({
    what: "failure",
    nodeId: "n2",
    actual: { name: "IterationLimitError" },
  });
});

describe("a run with few checkpoints", () => {
  it("diverges with another number of nodes, and with another output", async () => {
    const bodies = [same, call, same, call];
    expect(await replayed(bodies, bodies, true)).toMatchObject({ matches: true, status: "completed" });
    const path = { matches: false, divergence: { what: "path" } };
    expect(await replayed(bodies, [same, call, same, call, same, same], true)).toMatchObject(path);
    const fewer = await replayed([same, same, same], [same, same], true);
    expect(fewer).toMatchObject(path);
    expect(fewer.divergence).toMatchObject({
      nodeId: "n1",
      expected: { nodeId: "finish", input: "go", visits: 3 },
      actual: { nodeId: "finish", input: "go", visits: 2 },
    });
    const other: Body = async () => "other";
    expect(await replayed([same, same], [same, other], true)).toMatchObject({ divergence: { what: "output" } });
  });
});

it("a rollback that the storage refused is refused again, with the same error", async () => {
  const refused =
    (move: (context: AgentContext) => Promise<unknown>): Body =>
    async (_input, context) =>
      move(context).then(
        () => "moved",
        (error: unknown) => `${(error as Error).message.split(".")[0]}`,
      );
  const byId = refused((context) => persistence(context).rollbackToCheckpoint("latest"));
  const byPlace = refused((context) => persistence(context).rollbackToLatestCheckpoint());
  expect(await replayed([byId, byPlace], [byId, byPlace], true)).toMatchObject({ matches: true });
});

it("a counterfactual replay names the target of a rollback to the latest checkpoint", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  await agentOf(storage, [same]).run("go", { runId: "r" });
  const moving: Body = async (input, context) => {
    await persistence(context).rollbackToLatestCheckpoint();
    return input;
  };
  const result = await replayRun(agentOf(storage, [moving]), { storage, agentId: "a", onUnrecordedCall: "execute" });
  expect(result.divergence).toMatchObject({ what: "path", actual: "the latest checkpoint" });
});

it("a counterfactual replay executes no second call that nobody has approved", async () => {
  const executed: string[] = [];
  const asking = (storage: InMemoryPersistenceStorageProvider, count: number) => {
    const guarded = tool({
      name: "guarded",
      description: "",
      inputSchema: z.object({ item: z.string() }),
      effect: "none",
      needsApproval: count > 1,
      execute: ({ item }) => {
        executed.push(item);
        return item;
      },
    });
    const graph = strategy<string, string>("asking", (g) => {
      const only = g.node("only", async (item: string, context: AgentContext) => {
        await Promise.all(Array.from({ length: count }, () => context.tools.call(guarded, { item })));
        return item;
      });
      g.edge(g.start, only);
      g.edge(only, g.finish);
    });
    const common = { id: "a", promptExecutor: model, llmModel: "small", tools: [guarded] };
    return new AIAgent({ ...common, strategy: graph }).install(Persistence, { storage });
  };
  const storage = new InMemoryPersistenceStorageProvider();
  await asking(storage, 1).run("go", { runId: "r" });
  const result = await replayRun(asking(storage, 2), { storage, agentId: "a", onUnrecordedCall: "execute" });
  expect(result).toMatchObject({ status: "stopped", divergence: { what: "input" } });
  expect(executed).toEqual(["go"]);
});
