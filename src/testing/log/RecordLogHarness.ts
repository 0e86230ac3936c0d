import type { RecordLog } from "../../storage/RecordLog.ts";

/** A log to be tested, with what else the suite may do to it. */
export interface RecordLogHarness {
  readonly log: RecordLog;
  /**
   * Another instance on the same data, as a new process would have. One that says `processes: "one"` may close the first;
   * else the first stays in use. Absent: the first goes on, and the suite cannot see what a storage forgets.
   */
  readonly reopen?: () => RecordLog | PromiseLike<RecordLog>;
  /** Lets that many milliseconds pass for the storage, for one that looks for requests to stop now and then. */
  readonly advance?: (ms: number) => void | PromiseLike<void>;
}
