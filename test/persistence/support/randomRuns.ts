import { isDeepStrictEqual } from "node:util";
import {
  persistence,
  RollbackToolRegistry,
  storageKey,
  strategy,
  ToolFailedError,
  ToolOutcomeUnknownError,
  type AgentContext,
  type AIAgent,
  type PersistenceStorageProvider,
  type RunMoved,
  type ToolCallInDoubt,
  type ToolCallSettlement,
} from "agent-persistence";
import fc from "fast-check";
import { z } from "zod";
import { durableAgent } from "./durableAgent.ts";
import { World } from "./World.ts";

/** One thing a node does. */
export type Act =
  | { readonly kind: "book" | "pair" | "ask" | "say" | "count" | "compress" | "save" }
  | { readonly kind: "back" | "messages" | "point"; readonly to: number };

/** A chain of nodes, the processes that run it, and what a person does to the agent between them. */
export interface RandomRun {
  readonly nodes: readonly (readonly Act[])[];
  readonly automatic: boolean;
  /** How often the run itself may move. */
  readonly moves: number;
  readonly processes: readonly { readonly saves: number; readonly backTo?: number }[];
  readonly effect: "idempotent" | "irreversible";
  /** Who says what became of calls and inverses in doubt. */
  readonly settledBy: "handler" | "outside";
  /** What is said: to do it again, what really happened, or that nobody knows. */
  readonly settledAs: "retry" | "truth" | "unknown";
}

const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constantFrom("book", "pair", "ask", "say", "count", "compress", "save") }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("back", "messages", "point"), to: fc.nat(20) }) },
);

export const randomRun: fc.Arbitrary<RandomRun> = fc.record({
  nodes: fc.array(fc.array(act, { maxLength: 5 }), { minLength: 1, maxLength: 4 }),
  automatic: fc.boolean(),
  moves: fc.nat(3),
  processes: fc.array(
    fc.oneof(fc.record({ saves: fc.nat(15) }), fc.record({ saves: fc.nat(15), backTo: fc.nat(20) })),
    { maxLength: 4 },
  ),
  effect: fc.constantFrom("idempotent", "irreversible"),
  settledBy: fc.constantFrom("handler", "outside"),
  settledAs: fc.constantFrom("retry", "truth", "unknown"),
});

const count = storageKey("count", z.number());

/** A world with the chain in it; what the run may still do is the world's, so that it outlives processes. */
export class RandomWorld {
  readonly world = new World();
  readonly book;
  readonly registry;
  /** Where the live state of a node was not the stored one. */
  readonly differences: unknown[] = [];
  readonly #run: RandomRun;
  #moves: number;

  constructor(run: RandomRun) {
    this.#run = run;
    this.#moves = run.moves;
    this.book = this.world.adder("book", run.effect);
    // The output of a call that was settled may not be known.
    this.registry = new RollbackToolRegistry().registerRollback(this.book, ({ item }, { toolCallId }) =>
      this.world.remove(toolCallId, item),
    );
  }

  /** What somebody says of a call, or of an inverse, in doubt. */
  settle({ toolCallId, reverts, input }: ToolCallInDoubt): ToolCallSettlement {
    const { settledAs } = this.#run;
    // An inverse is not repeated: that would be seen as reverting twice.
    if (settledAs !== "truth" && reverts === undefined) return settledAs;
    const stands = this.world.effects.has(reverts ?? toolCallId);
    if (reverts !== undefined) return stands ? "retry" : { output: undefined };
    return stands ? { output: { made: (input as { readonly item: string }).item } } : { error: "did not happen" };
  }

  agent(storage: PersistenceStorageProvider): AIAgent<string, string> {
    const { nodes, automatic, settledBy } = this.#run;
    const graph = strategy<string, string>("random", (g) => {
      const chain = nodes.map((acts, at) =>
        g.node(`n${at}`, async (input: string, context: AgentContext) => {
          if (automatic) await this.#compare(context);
          for (const one of acts) {
            const moved = await this.#perform(one, context);
            if (moved) return moved;
          }
          return input;
        }),
      );
      chain.forEach((node, at) => g.edge(chain[at - 1] ?? g.start, node));
      const last = chain.at(-1);
      if (last) g.edge(last, g.finish);
    });
    const answer = () => ({ toolCalls: ["m1", "m2"].map((item) => ({ toolName: "book", input: { item } })) });
    return durableAgent(graph, storage, {
      automatic,
      tools: [this.book],
      registry: this.registry,
      ...(settledBy === "handler" && { onToolCallInDoubt: (call) => this.settle(call) }),
      maxIterations: 1_000,
      turns: Array.from({ length: 200 }, () => answer),
    });
  }

  async #compare(context: AgentContext): Promise<void> {
    const stored = await persistence(context).getLatestCheckpoint();
    const live = { messages: context.llm.messages, count: context.storage.get(count) };
    const saved = { messages: stored?.messageHistory, count: stored?.storage["count"] };
    if (!isDeepStrictEqual(live, saved)) this.differences.push({ node: context.nodeId, live, saved });
  }

  async #perform(one: Act, context: AgentContext): Promise<RunMoved | undefined> {
    const { llm, tools, storage } = context;
    switch (one.kind) {
      case "book":
        await this.#book(tools, context.nodeId);
        return undefined;
      case "pair":
        return void (await Promise.all(["l", "r"].map((item) => this.#book(tools, item))));
      case "ask": {
        const answer = await llm.request();
        llm.append(answer);
        return llm.append(await tools.execute(answer)) as undefined;
      }
      case "say":
        return llm.append({ role: "user", content: `at ${context.nodeId}` }) as undefined;
      case "count":
        return storage.set(count, (storage.get(count) ?? 0) + 1) as undefined;
      case "compress":
        return llm.rewrite((messages) => [{ role: "user", content: "before" }, ...messages.slice(-1)]) as undefined;
      case "save":
        return void (await persistence(context).createCheckpoint({ nodeId: "n0", lastInput: "saved" }));
      default:
        return this.#moves-- > 0 ? this.#move(one.kind, one.to, context) : undefined;
    }
  }

  async #book(tools: AgentContext["tools"], item: string): Promise<void> {
    await tools.call(this.book, { item }).catch((error: unknown) => {
      if (!(error instanceof ToolOutcomeUnknownError || error instanceof ToolFailedError)) throw error;
    });
  }

  async #move(kind: "back" | "messages" | "point", to: number, context: AgentContext): Promise<RunMoved | undefined> {
    const p = persistence(context);
    const { nodes } = this.#run;
    if (kind === "point") return p.setExecutionPoint({ nodeId: `n${to % nodes.length}`, input: "pointed" });
    const checkpoints = await p.getCheckpoints();
    const target = checkpoints[to % Math.max(1, checkpoints.length)]?.checkpointId ?? "none";
    const rollbackStrategy = kind === "back" ? "default" : "message_history_only";
    return p.rollbackToCheckpoint(target, { rollbackStrategy }).catch(refused);
  }
}

/** A target that cannot be gone back to changes nothing; anything else is not expected. */
export function refused(error: unknown): undefined {
  const { code } = error as { readonly code?: string };
  if (code !== "not_an_ancestor" && code !== "checkpoint_not_found") throw error;
  return undefined;
}
