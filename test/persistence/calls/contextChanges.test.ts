import {
  type AgentContext,
  type AnyTool,
  type PersistenceStorageProvider,
  storageKey,
  strategy,
  tool,
  type ToolEffect,
} from "agent-persistence";
import { replayRun } from "agent-persistence/replay";
import { crashAfter } from "agent-persistence/testing";
import fc from "fast-check";
import { expect, it } from "vitest";
import { z } from "zod";
import { runOf } from "../../../src/agent/feature/ContextBinding.ts";
import { durableAgent, Fault } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";
import { cases } from "../../soak/cases.ts";

const keys = ["x", "y"].map((name) => storageKey(name, z.unknown()));
const changes = [
  "set",
  "setLarge",
  "delete",
  "append",
  "rewrite",
  "configure",
  "progress",
  "decide",
  "require",
] as const;
type Change = { readonly kind: (typeof changes)[number]; readonly key: number; readonly value: number };
interface Call {
  readonly before: readonly Change[];
  readonly within: readonly Call[];
  readonly after: readonly Change[];
  readonly turns: number;
  readonly fails: boolean;
}
type Step = { readonly change: Change } | { readonly calls: readonly Call[] };

function make({ kind, key, value }: Change, context: AgentContext): void {
  const at = keys[key] ?? keys[0]!;
  const { llm, storage } = context;
  if (kind === "set") storage.set(at, { value, earlier: storage.get(at) === undefined });
  if (kind === "setLarge") storage.set(at, new Map([["large", `${value}`.repeat(12_000)]]));
  if (kind === "delete") storage.delete(at);
  if (kind === "append") llm.append({ role: "user", content: `message ${value}` });
  if (kind === "rewrite")
    llm.rewrite((messages) => [
      ...messages.filter((_message, at) => at % 2 === key),
      { role: "user", content: `rewritten ${value}` },
    ]);
  if (kind === "configure") llm.configure(key === 0 ? { model: `model ${value}` } : { parameters: { value } });
  if (kind === "progress") context.setProgress(value, `step ${value}`);
  if (kind === "decide") context.recordDecision({ decision: `decision ${value}` });
  if (kind === "require") context.require({ environment: { [`name${value}`]: "*" } });
}

/** Returns calls that make the given kinds of changes, also through calls within them. */
function callOf(kinds: readonly Change["kind"][]): fc.Arbitrary<Call> {
  const some = fc.array(changeOf(kinds), { maxLength: 3 });
  return fc.letrec<{ call: Call }>((tie) => ({
    call: fc.record({
      before: some,
      within: fc.oneof({ depthSize: "small" }, fc.constant([]), fc.array(tie("call"), { maxLength: 2 })),
      after: some,
      turns: fc.nat(3),
      fails: fc.boolean(),
    }),
  })).call;
}

function changeOf(kinds: readonly Change["kind"][]): fc.Arbitrary<Change> {
  return fc.record({ kind: fc.constantFrom(...kinds), key: fc.nat(1), value: fc.nat(9) });
}

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ change: changeOf(changes) }),
  fc.record({ calls: fc.tuple(callOf(changes)) }),
  fc.record({ calls: fc.array(callOf(changes), { minLength: 2, maxLength: 3 }) }),
);

/** An agent whose node makes changes, directly and through tools, and then sees the resulting state. */
function changing(steps: readonly Step[], fault: Fault, effect: ToolEffect = "irreversible") {
  const counts = { executions: 0 };
  const seen: unknown[] = [];
  const works: AnyTool & { readonly name: string } = tool({
    name: "works",
    description: "",
    inputSchema: z.custom<Call>(),
    effect,
    execute: async ({ before, within, after, turns, fails }, { context }) => {
      counts.executions += 1;
      for (const each of before) make(each, context);
      for (const each of within) await context.tools.call(works as never, each as never).catch(() => undefined);
      for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
      for (const each of after) make(each, context);
      if (fails) throw new Error("failed");
      return "done";
    },
  }) as never;
  const built = strategy<string, string>("changes", (graph) => {
    const first = graph.node("first", async (text: string, context) => {
      context.llm.append({ role: "user", content: "first" }, { role: "user", content: text });
      context.storage.set(keys[0]!, "old");
      return text;
    });
    const second = graph.node("second", async (text: string, context) => {
      for (const each of steps)
        if ("change" in each) make(each.change, context);
        else await Promise.allSettled(each.calls.map((asked) => context.tools.call(works as never, asked as never)));
      seen.push(stateOf(context));
      fault.strike();
      return text;
    });
    graph.edge(graph.start, first);
    graph.edge(first, second);
    graph.edge(second, graph.finish);
  });
  return { built, works, counts, seen };
}

/** Returns the state of a run. Without the order of decisions, which can differ between concurrent calls. */
function stateOf(context: AgentContext): unknown {
  const { history, storage, settings, progress, progressSummary, decisions, requirements } = runOf(context).state;
  const made = decisions.map(({ decision }) => decision).sort();
  return {
    messages: history.messages,
    values: new Map(storage.values),
    settings,
    progress,
    progressSummary,
    made,
    requirements,
  };
}

it.each(logStorages)("$name: a replay repeats the changes that finished tools made through their context", ({ open }) =>
  fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 4 }), async (steps) => {
      const opened = await open();
      const fault = new Fault();
      const { built, works, counts, seen } = changing(steps, fault);
      const agent = () => durableAgent(built, opened(), { tools: [works] });
      await fault.stops(agent().run("go"));
      const { executions } = counts;
      await agent().resume();
      expect(counts.executions).toBe(executions);
      expect(seen[1]).toEqual(seen[0]);
      const { divergence } = await replayRun(agent(), { storage: opened(), agentId: "a" });
      expect(divergence).toBeUndefined();
    }),
    { numRuns: cases(50, 2_000) },
  ),
);

/** Changes of concurrent calls that give the same state in each order. */
const independent = ["append", "decide", "require"] as const;
const orderly = changes.filter((kind) => kind !== "rewrite");
const sequential = (kinds: readonly Change["kind"][]) => [
  fc.record({ change: changeOf(kinds) }),
  fc.record({ calls: fc.tuple(callOf(kinds)) }),
];
const concurrent = fc.record({ calls: fc.array(callOf(independent), { minLength: 2, maxLength: 3 }) });
/** No tool rewrites the history of concurrent calls, because the rewrite depends on the order of the messages. */
const repeatedSteps: fc.Arbitrary<readonly Step[]> = fc.oneof(
  fc.array(fc.oneof(...sequential(changes)), { maxLength: 3 }),
  fc.array(fc.oneof(...sequential(orderly), concurrent), { maxLength: 3 }),
);

/** Returns the state with sorted messages, because the order of concurrent calls can differ after a crash. */
function sortedMessages(state: unknown): unknown {
  const { messages, ...others } = state as { readonly messages: readonly unknown[] };
  return { ...others, messages: messages.map((message) => JSON.stringify(message)).sort() };
}

it.each(logStorages)("$name: after a crash at any append, the state equals the state without a crash", ({ open }) =>
  fc.assert(
    fc.asyncProperty(repeatedSteps, async (steps) => {
      const never = new Fault();
      never.repair();
      const whole = changing(steps, never, "idempotent");
      const opened = await open();
      await durableAgent(whole.built, opened(), { tools: [whole.works] }).run("go");
      const isOrdered = steps.every((each) => "change" in each || each.calls.length === 1);
      const shown = isOrdered ? (state: unknown) => state : sortedMessages;
      for (let saves = 0; ; saves++) {
        const storage = (await open())();
        const { built, works, seen } = changing(steps, never, "idempotent");
        const run = (on: PersistenceStorageProvider) => durableAgent(built, on, { tools: [works] });
        const isWhole = await run(crashAfter(storage, saves))
          .run("go")
          .then(
            () => true,
            () => false,
          );
        if (isWhole) break;
        await run(storage).run("go");
        expect(shown(seen.at(-1))).toEqual(shown(whole.seen[0]));
      }
    }),
    { numRuns: cases(10, 400) },
  ),
);
