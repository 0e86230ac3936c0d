import type { PendingInput } from "../../agent/feature/RunResult.ts";
import type { StatusRecord } from "../../checkpoint/records/runRecords.ts";

/** The status of a run that waits. It shows the first request, and falls due when the first of them expires. */
export function waitingStatus(requests: readonly PendingInput[], at: number): Omit<StatusRecord, "kind" | "run"> {
  const [first] = requests;
  const until = Math.min(
    ...requests.flatMap(({ expiresAt }) => (expiresAt === undefined ? [] : [Date.parse(expiresAt)])),
  );
  return {
    status: "waiting",
    at,
    requests: requests.map(({ requestId }) => requestId),
    ...(first && { waitingFor: first.waitingFor, prompt: first.prompt }),
    ...(Number.isFinite(until) && { until }),
  };
}
