import { valueDigest } from "../checkpoint/values/valueDigest.ts";
import type { RunRecord } from "../checkpoint/records/runRecords.ts";
import type { Journal } from "./Journal.ts";

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
