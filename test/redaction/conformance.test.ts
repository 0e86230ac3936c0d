import { describe, it } from "vitest";
import { recordLogConformance } from "../../src/testing.ts";
import { wholeSoak } from "../soak/cases.ts";
import { engines } from "../storage/engines/engines.ts";
import { redactedHarness } from "./redactedHarness.ts";

/** A redacted log has no table of its own, and stores one new agent at a time. */
const leftOut = ["a table: the log is not over a LogTable", "createMany: the log has no such method"];

/** The suite takes most of a minute on all storages, so only a whole soak runs all of them. */
const tested = engines.filter(({ name }) => wholeSoak || name === "in memory");

for (const { name, harness } of tested) {
  describe(`a redacted log ${name}`, () => {
    it.each(recordLogConformance)("$name", (test) =>
      test.run(
        async () => redactedHarness(await harness()),
        (part) => {
          if (name !== "in memory" && !leftOut.includes(part)) throw new Error(`it leaves out ${part}`);
        },
      ),
    );
  });
}
