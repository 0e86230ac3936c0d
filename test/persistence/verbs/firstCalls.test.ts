import { persistence } from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { crashAfter } from "agent-persistence/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isCrash } from "../support/causesOf.ts";
import { idOf } from "../support/asking.ts";
import { logStorages, type Opened } from "../support/storages.ts";
import { keeping, type VerbName, verbNames, verbs } from "./verbs.ts";
import { VerbWorld } from "./VerbWorld.ts";
import { cases } from "../../soak/cases.ts";

/** An agent in a state, a call that a crash cuts short after some saves, and the first calls after it. */
interface Life {
  readonly start: "waiting" | "answered" | "completed";
  readonly cut: VerbName;
  readonly saves: number;
  readonly next: readonly VerbName[];
}

const verb = fc.constantFrom(...verbNames);
const life: fc.Arbitrary<Life> = fc.record({
  start: fc.constantFrom("waiting", "answered", "completed"),
  cut: verb,
  saves: fc.nat(6),
  next: fc.array(verb, { minLength: 1, maxLength: 2 }),
});

const runs = { memory: cases(15, 3_000), file: cases(4, 200) };

/** A verb may refuse what it finds. No refusal is about what is stored. */
function assertRefusal(error: unknown): void {
  const { code } = error as { readonly code?: string };
  if (code === undefined || ["corrupt_log", "unreadable_value", "invalid_record"].includes(code)) throw error;
}

/** Lives through the calls, and brings each agent to an end. */
async function live({ start, cut, saves, next }: Life, opened: Opened<LogPersistenceStorageProvider>) {
  const world = new VerbWorld(opened);
  const requestId = idOf(await world.agent().run("in", { agentId: "a", runId: "r" }));
  if (start !== "waiting") await world.answer("a", requestId);
  if (start === "completed") await world.finish("a");
  const forks: string[] = [];
  for (const [at, name] of [cut, ...next].entries()) {
    const forkId = `fork-${at}`;
    const storage = at === 0 ? crashAfter(opened(), saves) : opened();
    if (name === "fork") forks.push(forkId);
    if (!keeping.has(name)) for (const answer of world.answers) answer.dropped = true;
    await verbs[name]({ world, storage, requestId, forkId }).catch((error: unknown) => {
      if (!isCrash(error)) assertRefusal(error);
    });
  }
  const made: string[] = [];
  for await (const { agentId } of opened().log.list()) made.push(agentId);
  for (const agentId of ["a", ...forks.filter((fork) => made.includes(fork))]) await world.finish(agentId);
  return world;
}

describe.each(logStorages)("$name: first calls after a crash", (storage) => {
  const numRuns = storage.name === "file" ? runs.file : runs.memory;

  it("leave an agent that can be finished, repeat no effect and lose no answer", async () => {
    await fc.assert(
      fc.asyncProperty(life, async (each) => {
        const { world, answers, got } = await live(each, await storage.open());
        const repeated = (ids: readonly string[]) => ids.filter((id, at) => ids.indexOf(id) !== at);
        expect(repeated(world.executed)).toEqual([]);
        expect(repeated(world.undone)).toEqual([]);
        const lost = answers.filter(({ value, dropped }) => !dropped && !got.includes(value));
        expect(lost).toEqual([]);
      }),
      { numRuns },
    );
  });
});

it("the simulated world of the generator matches an undisturbed agent", async () => {
  const [memory] = logStorages;
  const world = new VerbWorld(await (memory as (typeof logStorages)[number]).open());
  const requestId = idOf(await world.agent().run("in", { agentId: "a", runId: "r" }));
  await world.answer("a", requestId);
  await world.finish("a");
  expect(world.world.items).toEqual(["color 1 paint", "room"]);
  expect(await persistence(world.agent()).agent("a").getToolCallsInDoubt()).toEqual([]);
});
