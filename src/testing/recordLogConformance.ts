import { blobTests, logSeparationTests } from "./log/blobTests.ts";
import { appendTests } from "./log/appendTests.ts";
import { damageTests, lostAnswerTests } from "./log/failureTests.ts";
import type { RecordLogTest } from "./log/logTest.ts";
import { ownershipTests, stopTests } from "./log/ownershipTests.ts";
import { receiveTests } from "./log/receiveTests.ts";
import { removalTests } from "./log/removalTests.ts";
import { readTests, summaryTests } from "./log/summaryTests.ts";
import { tableTests } from "./log/tableTests.ts";
import { takeOverTests } from "./log/takeOverTests.ts";

/**
 * What every `RecordLog` must do. In any test runner, with a log that holds nothing for each test:
 *
 *     const make = () => ({ log, reopen, advance, silence, alter, alterBlob, loseAnswer });
 *     for (const test of recordLogConformance) it(test.name, () => test.run(make));
 *
 * What a storage cannot do is left out by name, with the reason: `alter: { leftOut: "nobody reaches its bytes" }`. A
 * process warning then says so, or `onLeftOut` of each test: `it(name, ({ skip }) => test.run(make, skip))`.
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
  ...logSeparationTests,
  ...tableTests,
];
