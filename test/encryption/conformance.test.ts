import { describe, it } from "vitest";
import { recordLogConformance } from "../../src/testing.ts";
import { wholeSoak } from "../soak/cases.ts";
import { engines } from "../storage/engines/engines.ts";
import { encryptedHarness } from "./encryptedHarness.ts";

/** An encrypted log has no table of its own, copies of blobs are encrypted with another key, and agents have own keys. */
const leftOut = [
  "a table: the log is not over a LogTable",
  ...["blobs.copy", "createMany"].map((part) => `${part}: the log has no such method`),
];

/** The suite takes most of a minute on all storages, so only a whole soak runs all of them. */
const tested = engines.filter(({ name }) => wholeSoak || name === "in memory");

for (const { name, harness } of tested) {
  describe(`an encrypted log ${name}`, () => {
    it.each(recordLogConformance)("$name", (test) =>
      test.run(
        async () => encryptedHarness(await harness()),
        (part) => {
          if (name !== "in memory" && !leftOut.includes(part)) throw new Error(`it leaves out ${part}`);
        },
      ),
    );
  });
}
