import { InMemoryPersistenceStorageProvider, type PersistenceEvent } from "agent-persistence";
import { describe, expect, it } from "vitest";
import { changes } from "./support/changes.ts";
import { base, places, type Spec, type Stop } from "./support/Spec.ts";

/** How a run goes on with other code that stopped in a node. */
async function verdictOf(place: (typeof places)[number], before: Spec, after: Spec, at: string): Promise<string> {
  const storage = new InMemoryPersistenceStorageProvider();
  const stop: Stop = { at };
  await expect(place.agent(before, stop, storage).run("in")).rejects.toThrow("stopped");
  stop.at = undefined;
  const told: PersistenceEvent[] = [];
  const agent = place.agent(after, stop, storage, { onEvent: (event) => void told.push(event) });
  const result = await agent.resume().catch((error: unknown) => error);
  if ((result as { readonly code?: string }).code === "strategy_changed") return "incompatible";
  expect(result).toMatchObject({ status: "completed" });
  return told.some(({ kind }) => kind === "strategy_adapted") ? "compatible" : "same";
}

describe.each(places)("in $name, a run goes on as the table says", (place) => {
  it.each(changes)("after a change of $what", async ({ before = base, after, at = "two", verdicts }) => {
    const found = [
      await verdictOf(place, before, after, "one"),
      await verdictOf(place, before, after, at),
      await verdictOf(place, before, after, "three"),
    ];
    expect(found).toEqual(verdicts);
  });
});
