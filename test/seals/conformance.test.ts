import { describe, it } from "vitest";
import { recordLogConformance, type RecordLogHarness } from "../../src/testing.ts";
import { encryptedHarness } from "../encryption/encryptedHarness.ts";
import { wholeSoak } from "../soak/cases.ts";
import { engines } from "../storage/engines/engines.ts";
import { sealedHarness } from "./sealedHarness.ts";

/** A sealed log has no table of its own, and an encrypted one copies no blobs. */
const leftOut = [
  "a table: the log is not over a LogTable",
  ...["blobs.copy", "createMany"].map((part) => `${part}: the log has no such method`),
];

const arrangements: readonly (readonly [name: string, wrap: (harness: RecordLogHarness) => RecordLogHarness])[] = [
  ["a sealed log", sealedHarness],
  ["a sealed log over an encrypted one", (harness) => sealedHarness(encryptedHarness(harness))],
  ["an encrypted log over a sealed one", (harness) => encryptedHarness(sealedHarness(harness))],
];

for (const [arrangement, wrap] of arrangements)
  for (const { name, harness } of engines) {
    // The suite takes most of a minute on all storages, so only a whole soak runs all of them.
    const isQuick = name === "in memory" && wrap === sealedHarness;
    if (!wholeSoak && !isQuick) continue;
    describe(`${arrangement} ${name}`, () => {
      it.each(recordLogConformance)("$name", (test) =>
        test.run(
          async () => wrap(await harness()),
          (part) => {
            if (name !== "in memory" && !leftOut.includes(part)) throw new Error(`it leaves out ${part}`);
          },
        ),
      );
    });
  }
