import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cases } from "../../../soak/cases.ts";
import { testSeed } from "../../../testSeed.ts";
import { recordsOf } from "../../support/stored.ts";
import { eventStorages } from "../events/eventStorages.ts";
import { type TimeProgram, timeProgram } from "./TimeProgram.ts";
import { TimeWorld } from "./TimeWorld.ts";

interface Facts {
  readonly kind: string;
  readonly request?: string;
  readonly waitingFor?: string;
}

/** The number of timers and receipts, and the requests that ended more than once. */
async function waitsIn(storage: LogPersistenceStorageProvider) {
  const records = (await recordsOf(storage)) as readonly Facts[];
  const replies = records.flatMap(({ kind, request = "" }) => (kind === "reply" ? [request] : []));
  const count = (name: string) => records.filter((each) => each.kind === "request" && each.waitingFor === name).length;
  return {
    timers: count("timer"),
    receipts: count("event"),
    endedTwice: replies.filter((request, at) => replies.indexOf(request) !== at),
  };
}

describe.each(eventStorages.filter(({ name }) => name !== "in DynamoDB"))(
  "$name: a random program with timers, events and stops",
  ({ name, open }) => {
    const numRuns = name === "in memory" ? cases(20, 1_000) : cases(1, 60);

    it("ends as its undisturbed run", async () => {
      await fc.assert(
        fc.asyncProperty(timeProgram, async ({ steps, disturbances }: TimeProgram) => {
          const calm = await open();
          const undisturbed = new TimeWorld(steps, calm);
          const expected = await undisturbed.finish();
          const opened = await open();
          const world = new TimeWorld(steps, opened);
          for (const each of disturbances) await world.disturb(each);
          expect(await world.finish()).toBe(expected);
          expect(world.problems).toEqual([]);
          expect(world.settledItems).toEqual(undisturbed.settledItems);
          const waits = await waitsIn(opened());
          if (world.hasRolledBack) expect(waits.endedTwice).toEqual([]);
          else expect(waits).toEqual(await waitsIn(calm()));
        }),
        { numRuns, seed: testSeed },
      );
    });
  },
);
