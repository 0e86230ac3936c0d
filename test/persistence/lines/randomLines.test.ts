import fc from "fast-check";
import { describe, it } from "vitest";
import { checkLines } from "./support/checkLines.ts";
import { crashing, liveLines } from "./support/liveLines.ts";
import { linesOf } from "./support/randomLines.ts";
import { logStorages } from "../support/storages.ts";

const soak = process.env["SOAK"] !== undefined;
const counts = soak ? { memory: 400, file: 40 } : { memory: 30, file: 3 };

describe.each(logStorages)("$name: random lines", (storage) => {
  it.each([1, 2])(
    "any run with branches and called agents %i deep, crashed, rolled back and answered anywhere, ends as if nothing had happened",
    async (depth) => {
      const numRuns = Math.ceil(counts[storage.name as keyof typeof counts] / depth ** 2);
      await fc.assert(
        fc.asyncProperty(linesOf(depth), async (lines) => {
          await checkLines(lines, async () => {
            const opened = await storage.open();
            return { opened, world: await liveLines(lines, crashing(opened)) };
          });
        }),
        // A run that hangs is a counterexample, too.
        { numRuns, timeout: 30_000 },
      );
    },
  );
});
