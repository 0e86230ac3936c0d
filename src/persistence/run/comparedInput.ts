import type { RunRecord } from "../../checkpoint/records/runRecords.ts";
import { isSameValue } from "../../checkpoint/values/isSameValue.ts";
import type { StoredState } from "../start/startRecorder.ts";
import type { InputMatch } from "./decideRun.ts";

export function comparedInput(stored: StoredState | undefined, run: RunRecord | undefined, input: unknown): InputMatch {
  if (!stored || !run || run.assumed) return "unknown";
  return isSameValue(stored.log.readValue(run.input), input) ? "same" : "other";
}
