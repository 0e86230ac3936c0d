import { blobTests, logSeparationTests } from "./log/blobTests.ts";
import { appendTests } from "./log/appendTests.ts";
import type { RecordLogTest } from "./log/logTest.ts";
import { ownershipTests, removalTests, stopTests } from "./log/ownershipTests.ts";
import { readTests, summaryTests } from "./log/summaryTests.ts";

/**
 * What every `RecordLog` must do. In any test runner, with a log that holds nothing for each test:
 *
 *     for (const test of recordLogConformance) it(test.name, () => test.run(() => new MyRecordLog()));
 *
 * A storage that outlives its process gives `{ log, reopen }` instead, so that what it forgets is seen; one that looks
 * for requests to stop by a clock gives `advance` too. What happens when an owner dies is the backend's own to test.
 */
export const recordLogConformance: readonly RecordLogTest[] = [
  ...ownershipTests,
  ...appendTests,
  ...readTests,
  ...summaryTests,
  ...stopTests,
  ...blobTests,
  ...removalTests,
  ...logSeparationTests,
];
