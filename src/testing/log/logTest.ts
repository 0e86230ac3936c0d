import type { RecordLog } from "../../storage/RecordLog.ts";
import { type ConformanceTest, defineConformanceTest } from "../support/defineConformanceTest.ts";
import type { Expectations } from "../support/Expectations.ts";
import type { RecordLogHarness } from "./RecordLogHarness.ts";
import { RecordLogUnderTest } from "./RecordLogUnderTest.ts";

/** A test of a log: given as it is, or in a harness. */
export type RecordLogTest = ConformanceTest<RecordLog | RecordLogHarness>;

/** One test of a log; a fresh one is made for it. */
export function logTest(
  name: string,
  body: (storage: RecordLogUnderTest, expect: Expectations) => Promise<void>,
): RecordLogTest {
  return defineConformanceTest(name, (made: RecordLog | RecordLogHarness) => new RecordLogUnderTest(made), body);
}
