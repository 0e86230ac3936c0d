import type { AgentIndex, PlacedRecord } from "../../inspect/log/AgentIndex.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { RunPath } from "./runPath.ts";
import type { RunTrace } from "./RunTrace.ts";

/** Returns the status of a run at the end of its path. */
export function runStatus(
  { events }: AgentIndex,
  { runId, end, isWhole }: RunPath,
): Pick<RunTrace, "status" | "reason" | "error"> {
  const { status: ended, reason } = end?.record ?? {};
  if (ended) return withoutUndefined({ status: ended, reason });
  if (!isWhole) return { status: "in_progress" };
  const last = events.findLast(
    (event): event is PlacedRecord<"status"> =>
      "record" in event && event.record.kind === "status" && event.record.run === runId,
  )?.record;
  if (!last) return { status: "in_progress" };
  return withoutUndefined({ status: last.status, reason: last.reason, error: last.error && errorOf(last.error) });
}

function errorOf({ name, message, code }: NonNullable<RunTrace["error"]>): NonNullable<RunTrace["error"]> {
  return withoutUndefined({ name, message, code });
}
