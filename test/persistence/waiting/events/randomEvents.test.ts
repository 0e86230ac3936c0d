import { InMemoryPersistenceStorageProvider, persistence, strategy, type AgentContext } from "agent-persistence";
import { crashAfter } from "agent-persistence/testing";
import fc from "fast-check";
import { expect, it } from "vitest";
import { z } from "zod";
import { cases } from "../../../soak/cases.ts";
import { testSeed } from "../../../testSeed.ts";
import { durableAgent } from "../../support/durableAgent.ts";

type Provider = InMemoryPersistenceStorageProvider;

/** A step of another process. It crashes after some saves. */
interface Step {
  readonly act: "send" | "send again" | "run" | "roll back";
  readonly saves: number;
  readonly at: number;
}

const receipts = fc.array(fc.constantFrom("a", "b"), { minLength: 2, maxLength: 5, size: "max" });
/** A step that crashes after up to `most` saves, or not at all if `most` saves are enough. */
const step = (act: Step["act"], most: number): fc.Arbitrary<Step> =>
  fc.record({ act: fc.constant(act), saves: fc.integer({ min: 0, max: most }), at: fc.nat(5) });
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: step("send", 4) },
    { weight: 1, arbitrary: step("send again", 2) },
    { weight: 4, arbitrary: step("run", 14) },
    { weight: 2, arbitrary: step("roll back", 12) },
  ),
  { minLength: 4, maxLength: 16, size: "max" },
);

/** One node for each receipt, so that there are checkpoints between them. */
function receiving(names: readonly string[]) {
  return strategy<string, string>("receiving", (graph) => {
    const nodes = names.map((name, number) =>
      graph.node(`receive ${number}`, async (before: string, context: AgentContext) =>
        `${before} ${await context.receive(name, { schema: z.string() })}`.trim(),
      ),
    );
    const left = graph.node("left", async (before: string, context: AgentContext) => {
      for (const name of ["a", "b"])
        expect(await context.receive(name, { schema: z.string(), timeoutMs: 0 })).toBe(undefined);
      return before;
    });
    let last: Parameters<typeof graph.edge>[0] = graph.start;
    for (const node of nodes) {
      graph.edge(last as typeof graph.start, node);
      last = node as never;
    }
    graph.edge(last as typeof graph.start, left);
    graph.edge(left, graph.finish);
  });
}

/** The events that the receipts need, in the order of their sends. */
function eventsFor(names: readonly string[]) {
  const counts = new Map<string, number>();
  return names.map((name, number) => {
    const count = counts.get(name) ?? 0;
    counts.set(name, count + 1);
    return { name, payload: `${name}${count}`, key: `k${number}` };
  });
}

it("receives each event once and in order, whatever crashes", { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(receipts, steps, async (names, program) => {
      const storage = new InMemoryPersistenceStorageProvider();
      const graph = receiving(names);
      const agentOn = (provider: Provider) => durableAgent(graph, provider, { sleepInProcessMs: 0 });
      const events = eventsFor(names);
      let sent = 0;
      const send = (provider: Provider, event: (typeof events)[number] | undefined) =>
        event && persistence(agentOn(provider)).agent().send(event.name, event.payload, { key: event.key });
      const acts: Readonly<Record<Step["act"], (provider: Provider, step: Step) => Promise<unknown>>> = {
        send: async (provider) => {
          await send(provider, events[sent]);
          sent++;
        },
        "send again": async (provider, { at }) => send(provider, events.slice(0, sent)[at]),
        run: (provider) => agentOn(provider).run("", { runId: "r" }),
        "roll back": async (provider, { at }) => {
          const durable = persistence(agentOn(provider)).agent();
          const { checkpointId = "" } = (await durable.getCheckpoints())[at] ?? {};
          await durable.rollbackToCheckpoint(checkpointId);
        },
      };
      for (const step of program) {
        const process = crashAfter(storage, step.saves) as Provider;
        // A crash, or a checkpoint that does not exist.
        await acts[step.act](process, step).catch(() => undefined);
      }
      for (; sent < events.length; sent++) await send(storage, events[sent]);
      const result = await agentOn(storage).run("", { runId: "r" });
      expect(result).toMatchObject({ status: "completed", output: events.map(({ payload }) => payload).join(" ") });
    }),
    { numRuns: cases(20, 400), seed: testSeed },
  );
});
