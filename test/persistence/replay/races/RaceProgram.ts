import {
  AIAgent,
  Persistence,
  persistence,
  strategy,
  tool,
  type AgentContext,
  type PersistenceStorageProvider,
  type PromptExecutor,
  type RunResult,
} from "agent-persistence";
import type { SimulatedClock } from "agent-persistence/testing";
import fc from "fast-check";
import { z } from "zod";
// These load at their first use, which can take longer than the turns of the event loop before the clock advances.
import "../../../../src/journal/inbox/Inbox.ts";
import "../../../../src/persistence/changes.ts";
import "../../../../src/persistence/run/completionData.ts";
import "../../../../src/persistence/run/resumeStored.ts";
import "../../../../src/persistence/waiting/answerRequests.ts";
import "../../../../src/persistence/waiting/journalReceipt.ts";

/** A part of a node: one piece of work that lasts some milliseconds, or parts in sequence, in a race, or all at once. */
export type Part =
  | { readonly kind: "sleep" | "call" | "ask" | "nest" | "input"; readonly ms: number }
  | { readonly kind: "sequence" | "race" | "all"; readonly parts: readonly Part[] };

const work: fc.Arbitrary<Part> = fc.record({
  kind: fc.constantFrom("sleep", "sleep", "call", "call", "ask", "nest", "input"),
  ms: fc.integer({ min: 1, max: 9 }),
});

/** Random parts, whose works end in an order that differs from the order of their starts. */
export const part: fc.Arbitrary<Part> = fc.letrec<{ part: Part }>((tie) => ({
  part: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    work,
    fc.record({
      kind: fc.constantFrom("sequence", "race", "all"),
      parts: fc.array(tie("part"), { minLength: 2, maxLength: 3 }),
    }),
  ),
})).part;

/** Longer sleeps end the run as waiting. */
export const sleepInProcessMs = 5;

/**
 * One process that runs a part as a node. `ended` lists the works in the order in which the node saw their ends. After
 * each race, the node makes a call whose input is the winner, so another winner is a divergence.
 */
export class RaceProcess {
  readonly ended: string[] = [];
  readonly #clock: SimulatedClock;
  readonly #calls;
  readonly #agent: AIAgent<string, string>;

  constructor(root: Part, storage: PersistenceStorageProvider, clock: SimulatedClock) {
    this.#clock = clock;
    const inputSchema = z.object({ name: z.string(), ms: z.number() });
    const call = tool({
      name: "call",
      description: "",
      inputSchema,
      effect: "idempotent",
      execute: async ({ ms }) => this.#after(ms),
    });
    const nest = tool({
      name: "nest",
      description: "",
      inputSchema,
      effect: "idempotent",
      execute: async ({ name, ms }, { context }) => {
        const inner = context.tools.call(call, { name: `${name} inside`, ms });
        await Promise.race([inner, context.sleep(10 - ms)]);
        await inner;
      },
    });
    this.#calls = { call, nest };
    const graph = strategy<string, string>("races", (g) => {
      const only = g.node("only", async (_input: string, context: AgentContext) => {
        this.ended.length = 0;
        return this.#perform(root, "", context);
      });
      g.edge(g.start, only);
      g.edge(only, g.finish);
    });
    const promptExecutor: PromptExecutor = {
      execute: async ({ model }) => {
        await this.#after(Number(model.split(" ")[1]));
        return { message: { role: "assistant", content: model } };
      },
    };
    this.#agent = new AIAgent({
      id: "a",
      llmModel: "m",
      promptExecutor,
      strategy: graph,
      tools: [call, nest],
    }).install(Persistence, { storage, clock, sleepInProcessMs });
  }

  /** Runs or resumes the agent. Answers the first open request. The clock passes a millisecond when all has settled. */
  async continue(): Promise<void> {
    await this.#toEnd(() => this.#agent.run("go", { runId: "r" }), "a");
  }

  /** Forks the agent, and resumes the fork. */
  async fork(): Promise<void> {
    await persistence(this.#agent).agent().fork("b");
    await this.#toEnd(() => this.#agent.resume({ agentId: "b" }), "b");
  }

  async #toEnd(start: () => Promise<RunResult<string>>, agentId: string): Promise<void> {
    for (;;) {
      const result = await this.#pass(start());
      if (result.status !== "waiting") return;
      const open = result.requests.find(({ kind }) => kind === "input");
      const due = result.requests.flatMap((request) => (request.kind === "timer" ? Date.parse(request.dueAt) : []));
      if (open) await this.#pass(this.#agent.resume({ agentId, answers: { [open.requestId]: true } }));
      else this.#clock.advance(Math.max(0, Math.min(...due) - this.#clock.now()));
    }
  }

  async #pass<Result>(running: Promise<Result>): Promise<Result> {
    let isOver = false;
    const over = () => void (isOver = true);
    running.then(over, over);
    for (let ms = 0; ms < 1_000; ms++) {
      for (let turn = 0; turn < 25 && !isOver; turn++) await new Promise((resolve) => setImmediate(resolve));
      if (isOver) return running;
      this.#clock.advance(1);
    }
    throw new Error("The run does not end.");
  }

  #after(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#clock.after(ms, resolve));
  }

  async #perform(one: Part, name: string, context: AgentContext): Promise<string> {
    if (!("parts" in one)) {
      await this.#work(one, name, context);
      this.ended.push(`${one.kind}${name}`);
      return name;
    }
    if (one.kind === "sequence") {
      const names: string[] = [];
      for (const [at, each] of one.parts.entries()) names.push(await this.#perform(each, `${name}.${at}`, context));
      return names.join();
    }
    const begun = one.parts.map((each, at) => this.#perform(each, `${name}.${at}`, context));
    if (one.kind === "all") return (await Promise.all(begun)).join();
    const winner = await Promise.race(begun);
    await context.tools.call(this.#calls.call, { name: `${winner} wins ${name}`, ms: 1 });
    this.ended.push(`${winner} wins ${name}`);
    return `(${winner})`;
  }

  async #work({ kind, ms }: Extract<Part, { ms: number }>, name: string, context: AgentContext): Promise<void> {
    switch (kind) {
      case "sleep":
        return context.sleep(ms);
      case "ask":
        return void (await context.llm.request({ model: `m ${ms} ${name}` }));
      case "input":
        return void (await context.requestInput({ prompt: name, schema: z.boolean() }));
      default:
        await context.tools.call(this.#calls[kind], { name, ms });
    }
  }
}
