import type { RunResult } from "../../agent/feature/RunResult.ts";
import { valueDigest } from "../../checkpoint/values/isSameValue.ts";
import { RunInputDiffersError } from "../../errors/runErrors.ts";
import type { StoredState } from "../start/startRecorder.ts";
import { comparedInput } from "./comparedInput.ts";
import type { DurableCall } from "./DurableCall.ts";
import { recordedEnd } from "./recordedEnd.ts";

export async function recordedResult(
  { setup, journal, request, span }: DurableCall,
  runId: string,
  stored: StoredState | undefined,
): Promise<RunResult<unknown>> {
  const { digest, ...end } = await recordedEnd(setup.log, journal, runId);
  const { input, agentId, kind } = request;
  const run = stored?.log.index.runRecords.get(runId);
  span?.add({ replayed: true, linkedTrace: run?.trace });
  const isOther =
    digest === undefined
      ? comparedInput(stored, run, input) === "other"
      : digest !== valueDigest(input, journal.sha256);
  if (kind === "run" && isOther) throw new RunInputDiffersError(agentId, runId);
  return { status: "completed", runId, ...end };
}
