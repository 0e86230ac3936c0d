import { InMemoryPersistenceStorageProvider, strategy, tool, type AgentContext } from "agent-persistence";
import { SimulatedClock } from "agent-persistence/testing";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { gate } from "../../agent/gate.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { recordsOf } from "../support/stored.ts";

type Execute = (context: AgentContext) => Promise<string>;

const toolOf = (name: string, execute: Execute, effect: "none" | "idempotent" | "irreversible" = "none") =>
  tool({ name, description: "", inputSchema: z.object({}), effect, execute: (_, { context }) => execute(context) });

const timed = (execute: Execute) => ({ ...toolOf("timed", execute), timeoutMs: 1_000 });

/** A storage whose next append with this kind of record is held back. */
function holdingStorage(holds: (records: string) => boolean) {
  const storage = new InMemoryPersistenceStorageProvider();
  const [held, release] = [gate(), gate()];
  const { log } = storage;
  const open = log.open.bind(log);
  vi.spyOn(log, "open").mockImplementation(async (...given) => {
    const owned = await open(...given);
    const append = owned.append.bind(owned);
    owned.append = async (...appended) => {
      if (holds(JSON.stringify(appended))) {
        held.open();
        await release.opened;
      }
      return append(...appended);
    };
    return owned;
  });
  return { storage, held, release };
}

/** Only the inner call has an intent. */
const innerEnd = (storage: InMemoryPersistenceStorageProvider) =>
  vi.waitUntil(async () => {
    const records = await recordsOf(storage);
    const calls = records.filter(({ kind }) => kind === "intent").map((record) => (record as { call?: string }).call);
    return records.some((record) => record.kind === "outcome" && calls.includes((record as { call?: string }).call));
  });

/** Fails soon if the calls of a visit are delivered only after the slow call. */
const delivered = (outputs: readonly string[]) => vi.waitUntil(() => outputs.includes("quick"), { timeout: 5_000 });

it("a call that did not start before a time limit delays no other call of its node", async () => {
  const clock = new SimulatedClock();
  const { storage, held, release } = holdingStorage((records) => records.includes('"tool":"inner"'));
  const [slowEnds, quickEnds] = [gate(), gate()];
  const outputs: string[] = [];
  const inner = toolOf("inner", async () => "inner", "irreversible");
  const outer = timed((context) => context.tools.call(inner, {}));
  const slow = toolOf("slow", () => slowEnds.opened.then(() => "slow"));
  const quick = toolOf("quick", () => quickEnds.opened.then(() => "quick"));
  const unstarted = gate();
  const graph = strategy<string, string>("s", (g) => {
    const node = g.node("node", async (_input: string, context) => {
      const note = (call: Promise<string>) =>
        call.then(
          (output) => void outputs.push(output),
          () => unstarted.open(),
        );
      await Promise.all([outer, slow, quick].map((each) => note(context.tools.call(each, {}))));
      return outputs.join();
    });
    g.edge(g.start, node);
    g.edge(node, g.finish);
  });
  const running = durableAgent(graph, storage, { tools: [inner, outer, slow, quick], clock }).run("go");
  await held.opened;
  clock.advance(1_000);
  clock.advance(60_000);
  await unstarted.opened;
  release.open();
  await innerEnd(storage);
  quickEnds.open();
  await delivered(outputs);
  slowEnds.open();
  expect(await running).toMatchObject({ output: "quick,slow" });
});

it("a call that ends after its node delays no call of the next node", async () => {
  const clock = new SimulatedClock();
  const storage = new InMemoryPersistenceStorageProvider();
  const [begun, innerEnds, secondBegun, slowEnds, quickEnds] = [gate(), gate(), gate(), gate(), gate()];
  const outputs: string[] = [];
  const inner = toolOf(
    "inner",
    () => {
      begun.open();
      return innerEnds.opened.then(() => "inner");
    },
    "irreversible",
  );
  const outer = timed((context) => context.tools.call(inner, {}));
  const slow = toolOf("slow", () => slowEnds.opened.then(() => "slow"));
  const quick = toolOf("quick", () => quickEnds.opened.then(() => "quick"));
  const graph = strategy<string, string>("s", (g) => {
    const first = g.node("first", (_input: string, context) => context.tools.call(outer, {}).catch(() => "late"));
    const second = g.node("second", async (_input: string, context) => {
      const calls = [slow, quick].map(async (each) => void outputs.push(await context.tools.call(each, {})));
      secondBegun.open();
      await Promise.all(calls);
      return outputs.join();
    });
    g.edge(g.start, first);
    g.edge(first, second);
    g.edge(second, g.finish);
  });
  const running = durableAgent(graph, storage, { tools: [inner, outer, slow, quick], clock }).run("go");
  await begun.opened;
  clock.advance(1_000);
  clock.advance(60_000);
  await secondBegun.opened;
  innerEnds.open();
  await innerEnd(storage);
  quickEnds.open();
  await delivered(outputs);
  slowEnds.open();
  expect(await running).toMatchObject({ output: "quick,slow" });
});
