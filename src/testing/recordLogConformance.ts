import { blobTests, logSeparationTests } from "./conformance/log/blobTests.ts";
import { appendTests, createTests } from "./conformance/log/appendTests.ts";
import { damageTests, lostAnswerTests } from "./conformance/log/failureTests.ts";
import type { RecordLogTest } from "./conformance/log/logTest.ts";
import { ownershipTests, stopTests, takeOverTests } from "./conformance/log/ownershipTests.ts";
import { receiveTests } from "./conformance/log/receiveTests.ts";
import { removalTests } from "./conformance/log/removalTests.ts";
import { readTests, summaryTests } from "./conformance/log/summaryTests.ts";
import { tableTests } from "./conformance/log/tableTests.ts";

/**
 * The conformance suite for every `RecordLog`, for any test runner. Pass a function that returns a harness with an
 * empty log. A control that the storage cannot support is left out with a reason, for example `alter: { leftOut: "no
 * access to the stored bytes" }`. A process warning, or `onLeftOut` of each test, then reports the reason.
 *
 * @example
 * ```ts
 * const make = () => ({ log, reopen, advance, silence, alter, alterBlob, loseAnswer });
 * for (const test of recordLogConformance) it(test.name, ({ skip }) => test.run(make, skip));
 * ```
 */
export const recordLogConformance: readonly RecordLogTest[] = [
  ...ownershipTests,
  ...takeOverTests,
  ...appendTests,
  ...lostAnswerTests,
  ...readTests,
  ...damageTests,
  ...summaryTests,
  ...stopTests,
  ...blobTests,
  ...removalTests,
  ...receiveTests,
  ...createTests,
  ...logSeparationTests,
  ...tableTests,
];
