import { type AgentContext, type AnyTool, storageKey, strategy, tool } from "agent-persistence";
import { replayRun } from "agent-persistence/replay";
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

// A rewrite also moves the messages of concurrent calls, so that their order depends on the time of the rewrite.
const together = changes.filter((kind) => kind !== "rewrite");
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ change: changeOf(changes) }),
  fc.record({ calls: fc.tuple(callOf(changes)) }),
  fc.record({ calls: fc.array(callOf(together), { minLength: 2, maxLength: 3 }) }),
);

/** An agent whose node makes changes, directly and through tools, and then sees the resulting state. */
function changing(steps: readonly Step[], fault: Fault) {
  const counts = { executions: 0 };
  const seen: unknown[] = [];
  const works: AnyTool & { readonly name: string } = tool({
    name: "works",
    description: "",
    inputSchema: z.custom<Call>(),
    effect: "irreversible",
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
