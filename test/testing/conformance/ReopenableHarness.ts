import type { RecordLog } from "../../../src/storage/RecordLog.ts";
import type { RecordLogHarness } from "../../../src/testing.ts";

/** A harness whose log can be reopened. */
export interface ReopenableHarness extends RecordLogHarness {
  readonly reopen: () => RecordLog;
}
