import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  strategy,
  tool,
  type AgentContext,
  type AnyTool,
  type PromptExecutor,
  type Tool,
  type ToolEffect,
} from "agent-persistence";
import { replayRun, type Candidate } from "agent-persistence/replay";
import fc from "fast-check";
import { expect, it } from "vitest";
import { z } from "zod";
import { recordsOf } from "../persistence/support/stored.ts";
import { cases } from "../soak/cases.ts";

const effects = ["none", "idempotent", "reversible", "irreversible"] as const satisfies readonly ToolEffect[];

type Act =
  | { readonly kind: "code" | "outer" | "agent"; readonly effect: ToolEffect; readonly item: number }
  | { readonly kind: "model" | "ask" | "save" | "sleep"; readonly item: number };

interface Program {
  readonly nodes: readonly (readonly Act[])[];
  readonly branches: readonly (readonly Act[])[];
}

const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom("code", "outer", "agent"),
      effect: fc.constantFrom(...effects),
      item: fc.nat(3),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom("model", "ask", "save", "sleep"), item: fc.nat(3) }) },
);
const acts = fc.array(act, { maxLength: 3 });
const program: fc.Arbitrary<Program> = fc.record({
  nodes: fc.array(acts, { minLength: 1, maxLength: 3 }),
  branches: fc.array(acts, { minLength: 1, maxLength: 2 }),
});

interface Choice extends Omit<Candidate, "from" | "onUnrecordedCall" | "tools"> {
  readonly from: number | undefined;
  readonly onUnrecordedCall: "stop" | "execute" | "simulate";
  readonly simulatesAll: boolean;
}

const choice: fc.Arbitrary<Choice> = fc.record({
  from: fc.option(fc.nat(20), { nil: undefined }),
  model: fc.constantFrom("recorded", "live"),
  llmModel: fc.constantFrom(undefined, "larger"),
  systemPrompt: fc.constantFrom(undefined, "Be brief."),
  onUnrecordedCall: fc.constantFrom("stop", "execute", "simulate"),
  simulatesAll: fc.boolean(),
});

/** The world outside of the agents. */
class Ledger {
  readonly entries: { readonly tool: string; readonly effect: ToolEffect }[] = [];
  requests = 0;
  readonly tools: Readonly<Record<ToolEffect, Tool<{ item: number }, string>>> = {
    none: this.#tool("none"),
    idempotent: this.#tool("idempotent"),
    reversible: this.#tool("reversible"),
    irreversible: this.#tool("irreversible"),
  };
  /** Calls another tool, whose effect it does not know. */
  readonly outer = Object.fromEntries(
    effects.map((inner) => [
      inner,
      tool({
        name: `outer_${inner}`,
        description: "",
        effect: "none",
        inputSchema: z.object({ item: z.number() }),
        execute: async ({ item }, { context }) => {
          this.entries.push({ tool: "outer", effect: "none" });
          return context.tools.call(this.tools[inner], { item });
        },
      }),
    ]),
  ) as unknown as Readonly<Record<ToolEffect, Tool<{ item: number }, string>>>;

  /** A model whose calls depend on all it sees. */
  readonly model: PromptExecutor = {
    execute: async ({ messages, model }) => {
      this.requests++;
      const seen = JSON.stringify([messages.map(({ role }) => role), messages[0]?.content, model]).length;
      const calls = effects.map((effect, at) => ({
        type: "tool-call" as const,
        toolCallId: `c${at}`,
        toolName: effect,
        input: { item: seen % 7 },
      }));
      return { message: { role: "assistant", content: calls.slice(0, 1 + (seen % 4)) } };
    },
  };

  #tool(effect: ToolEffect) {
    return tool({
      name: effect,
      description: "",
      effect,
      inputSchema: z.object({ item: z.number() }),
      execute: ({ item }) => {
        this.entries.push({ tool: effect, effect });
        return `${effect} ${item}`;
      },
    });
  }
}

function agentOf(
  { nodes, branches }: Program,
  ledger: Ledger,
  storage: InMemoryPersistenceStorageProvider,
): AIAgent<string, string> {
  const common = { promptExecutor: ledger.model, llmModel: "small", systemPrompt: "Be kind." };
  const callers = Object.fromEntries(effects.map((effect) => [effect, agentTool(effect)]));
  function agentTool(effect: ToolEffect) {
    const graph = strategy<string, string>(`called_${effect}`, (g) => {
      const only = g.node("only", async (item: string, context: AgentContext) => {
        await context.llm.request();
        return context.tools.call(ledger.tools[effect], { item: Number(item) });
      });
      g.edge(g.start, only);
      g.edge(only, g.finish);
    });
    return new AIAgent({ ...common, strategy: graph }).install(Persistence, {}).asTool({
      name: `agent_${effect}`,
      description: "",
      inputSchema: z.object({ item: z.number() }),
      input: ({ item }) => String(item),
    });
  }
  const perform = async (all: readonly Act[], context: AgentContext): Promise<void> => {
    const { tools, llm } = context;
    for (const one of all) {
      if (one.kind === "code") await tools.call(ledger.tools[one.effect], { item: one.item });
      else if (one.kind === "outer") await tools.call(ledger.outer[one.effect], { item: one.item });
      else if (one.kind === "agent") await tools.call(callers[one.effect] as never, { item: one.item } as never);
      else if (one.kind === "save")
        await persistence(context)
          .createCheckpoint()
          .catch(() => undefined);
      else if (one.kind === "sleep") await context.sleep(one.item);
      else if (one.kind === "ask") await context.requestInput({ prompt: `${one.item}?`, schema: z.string() });
      else {
        const answer = await llm.request();
        llm.append(answer, await tools.execute(answer));
      }
    }
  };
  const graph = strategy<string, string>("ledger", (g) => {
    const chain = nodes.map((all, at) =>
      g.node(`n${at}`, async (input: string, context: AgentContext) => {
        await perform(all, context);
        return input;
      }),
    );
    const named = branches.map((all, at) => [
      `b${at}`,
      g.node(`b${at}`, async (input: string, context: AgentContext) => {
        await perform(all, context);
        return input;
      }),
    ]);
    const both = g.parallel("both", Object.fromEntries(named), () => "done");
    [...chain, both].forEach((node, at, list) => g.edge(list[at - 1] ?? g.start, node as never));
    g.edge(both, g.finish);
  });
  const tools: readonly AnyTool[] = [
    ...Object.values(ledger.tools),
    ...Object.values(ledger.outer),
    ...Object.values(callers),
  ];
  return new AIAgent({ ...common, id: "a", strategy: graph, tools }).install(Persistence, { storage });
}

async function record(agent: AIAgent<string, string>): Promise<void> {
  let result = await agent.run("go", { runId: "r" });
  while (result.status === "waiting") {
    const answers = Object.fromEntries(result.requests.map(({ requestId }) => [requestId, "yes"]));
    result = await agent.resume({ answers });
  }
}

it("a counterfactual replay executes only tools without effects, and calls a model only if it is live", async () => {
  let completed = 0;
  await fc.assert(
    fc.asyncProperty(program, fc.option(program, { nil: undefined }), choice, async (recorded, changed, chosen) => {
      const storage = new InMemoryPersistenceStorageProvider();
      const ledger = new Ledger();
      const agent = agentOf(recorded, ledger, storage);
      await record(agent);
      const before = await recordsOf(storage);
      const checkpoints = await persistence(agent).agent().getCheckpoints();
      const from = chosen.from === undefined ? undefined : checkpoints[chosen.from % checkpoints.length]?.checkpointId;
      ledger.entries.length = 0;
      ledger.requests = 0;
      const candidate = agentOf(changed ?? recorded, ledger, storage);
      const { simulatesAll, onUnrecordedCall, ...options } = chosen;
      const simulate = () => "simulated";
      const result = await replayRun(candidate, {
        storage,
        agentId: "a",
        ...options,
        from,
        ...(simulatesAll && { tools: simulate }),
        onUnrecordedCall: onUnrecordedCall === "simulate" ? simulate : onUnrecordedCall,
      });
      if (result.status === "completed") completed++;
      const executes = onUnrecordedCall === "execute" && !simulatesAll;
      expect(ledger.entries.filter(({ effect }) => effect !== "none" || !executes)).toEqual([]);
      if (chosen.model !== "live") expect(ledger.requests).toBe(0);
      expect(await recordsOf(storage)).toEqual(before);
    }),
    { numRuns: cases(24, 2_000), timeout: 600_000 },
  );
  expect(completed).toBeGreaterThan(5);
});
