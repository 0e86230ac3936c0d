import type { PersistenceEvent, PersistenceStorageProvider } from "agent-persistence";
import { describe, expect, it } from "vitest";
import { logStorages } from "../support/storages.ts";
import { changes } from "./support/changes.ts";
import { base, places, type Spec, type Stop } from "./support/Spec.ts";
import { every } from "../../soak/cases.ts";

/** How a run goes on with other code that stopped in a node. */
async function verdictOf(
  place: (typeof places)[number],
  storage: PersistenceStorageProvider,
  [before, after]: readonly [Spec, Spec],
  at: string,
): Promise<string> {
  const stop: Stop = { at };
  await expect(place.agent(before, stop, storage).run("in")).rejects.toThrow("stopped");
  stop.at = undefined;
  const told: PersistenceEvent[] = [];
  const agent = place.agent(after, stop, storage, { onEvent: (event) => void told.push(event) });
  const result = await agent.resume().catch((error: unknown) => error);
  if ((result as { readonly code?: string }).code === "strategy_changed") return "incompatible";
  expect(result).toMatchObject({ status: "completed" });
  return told.some(({ type }) => type === "strategy_adapted") ? "compatible" : "same";
}

/** Each change is tried at every place in a whole soak, and at one in `npm test`. */
const stride = every(places.length, 1);

describe.each(logStorages)("$name:", (storage) => {
  describe.each(places)("in $name, a run continues as the table says", (place) => {
    const tried = changes.filter((_change, row) => (row + places.indexOf(place)) % stride === 0);
    it.each(tried)("after a change of $what", async ({ before = base, after, at = "two", verdicts }) => {
      for (const [position, stopped] of ["one", at, "three"].entries()) {
        const opened = await storage.open();
        const verdict = await verdictOf(place, opened(), [before, after], stopped);
        expect([stopped, verdict]).toEqual([stopped, verdicts[position]]);
      }
    });
  });
});
