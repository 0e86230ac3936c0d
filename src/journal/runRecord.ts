import { valueDigest } from "../checkpoint/values/valueDigest.ts";
import type { RunRecord } from "../checkpoint/records/runRecords.ts";
import type { Journal } from "./Journal.ts";

/** Returns the record of a run that starts now. @param trace the trace of its start, if telemetry is on. */
export function runRecord(journal: Journal, runId: string, input: unknown, trace?: string): RunRecord {
  return {
    kind: "run",
    run: runId,
    input: journal.writer.value(input, "the input of the run"),
    digest: valueDigest(input, journal.sha256),
    at: journal.clock.now(),
    ...(trace !== undefined && { trace }),
  };
}
