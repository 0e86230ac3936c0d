import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { crashAfter, SimulatedClock } from "agent-persistence/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cases } from "../../../soak/cases.ts";
import { recordsOf } from "../../support/stored.ts";
import { part, type Part, RaceProcess } from "./RaceProgram.ts";

interface EndFacts {
  readonly kind: string;
  readonly call?: string;
  readonly request?: string;
  readonly within?: string;
  readonly suspended?: true;
}

/** The number of ends that a node sees: model responses, outcomes of its calls, and replies. */
async function endsIn(storage: InMemoryPersistenceStorageProvider): Promise<number> {
  const records = (await recordsOf(storage)) as readonly EndFacts[];
  const inside = new Set(records.flatMap(({ within, call, request }) => (within ? (call ?? request) : [])));
  return records.filter(({ kind, suspended, call, request }) => {
    if (kind === "answer") return true;
    return (kind === "outcome" || kind === "reply") && !suspended && !inside.has(call ?? request);
  }).length;
}

async function appendsOf(root: Part): Promise<number> {
  const storage = new InMemoryPersistenceStorageProvider();
  await new RaceProcess(root, storage, new SimulatedClock()).continue();
  let appends = 0;
  for await (const _entry of storage.log.read("a")) appends++;
  return appends;
}

/** Crashes at an append. A fork and the next process must see the recorded ends in the order of the first, and finish. */
async function crashAt(root: Part, saves: number): Promise<void> {
  const storage = new InMemoryPersistenceStorageProvider();
  const clock = new SimulatedClock();
  const first = new RaceProcess(root, crashAfter(storage, saves), clock);
  await first.continue().catch((error: unknown) => expect(error).toMatchObject({ code: "simulated_crash" }));
  const seen = first.ended.slice(0, await endsIn(storage));
  const fork = new RaceProcess(root, storage, clock);
  await fork.fork();
  if (fork.ended.length > 0) expect(fork.ended.slice(0, seen.length)).toEqual(seen);
  const second = new RaceProcess(root, storage, clock);
  await second.continue();
  if (second.ended.length > 0) expect(second.ended.slice(0, seen.length)).toEqual(seen);
}

async function crashAtEach(root: Part): Promise<void> {
  const appends = await appendsOf(root);
  for (let saves = 1; saves < appends; saves++) await crashAt(root, saves);
}

const call = (ms: number): Part => ({ kind: "call", ms });
const race = (...parts: readonly Part[]): Part => ({ kind: "race", parts });
const sequence = (...parts: readonly Part[]): Part => ({ kind: "sequence", parts });
const both = (...parts: readonly Part[]): Part => ({ kind: "all", parts });

/** Parts whose later starts depend on the order of earlier ends. */
const examples: readonly { readonly what: string; readonly root: Part }[] = [
  { what: "a sleep that lost a race", root: race({ kind: "sleep", ms: 4 }, sequence(call(2), call(6))) },
  { what: "a long sleep that lost a race", root: race({ kind: "sleep", ms: 8 }, sequence(call(2), call(9))) },
  { what: "calls that won against a sleep", root: race(sequence(call(1), call(2)), { kind: "sleep", ms: 4 }) },
  { what: "a model request that lost a race", root: race({ kind: "ask", ms: 5 }, sequence(call(2), call(5))) },
  {
    what: "sleeps of helpers whose calls end in another order",
    root: both(
      sequence(call(4), { kind: "sleep", ms: 9 }, call(1)),
      sequence(call(2), { kind: "sleep", ms: 6 }, call(1)),
    ),
  },
  {
    what: "a tool whose sleep lost a race before the end of the node",
    root: race({ kind: "sleep", ms: 3 }, { kind: "nest", ms: 2 }, { kind: "ask", ms: 9 }),
  },
];

describe("a node whose works race", () => {
  it.each(examples)("sees the same ends after a crash at each append: $what", ({ root }) => crashAtEach(root));

  it("has the same winners after a crash at each append of a random node", async () => {
    await fc.assert(fc.asyncProperty(part, crashAtEach), { numRuns: cases(4, 500) });
  });
});
