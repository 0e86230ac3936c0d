import type { RunResult } from "../../agent/feature/RunResult.ts";
import type { StoredState } from "../start/startRecorder.ts";
import { pendingRequests } from "../waiting/pendingRequests.ts";

export function waitingResult(runId: string, stored: StoredState | undefined): RunResult<unknown> {
  const usage = stored?.log.index.usageOf(runId);
  return { status: "waiting", runId, ...(usage && { usage }), requests: stored ? pendingRequests(stored) : [] };
}
