import fc from "fast-check";
import { describe, it } from "vitest";
import { treesOf } from "../lines/support/randomLines.ts";
import { logStorages } from "../support/storages.ts";
import { checkForks } from "./support/checkForks.ts";
import { cases } from "../../soak/cases.ts";

const counts: Readonly<Record<string, number>> = { memory: cases(3, 12), file: cases(1, 2) };

describe.each(logStorages)("$name: random forks", (storage) => {
  it.each([1, 2])(
    "of any run with branches and called agents %i deep equal their checkpoint, end like the run, and stay independent",
    async (depth) => {
      const numRuns = Math.ceil((counts[storage.name] ?? 1) / depth ** 2);
      await fc.assert(
        fc.asyncProperty(treesOf(depth), fc.nat(40), async (lines, at) => {
          await checkForks(lines, at, await storage.open());
        }),
        { numRuns, timeout: 60_000 },
      );
    },
  );
});
