import type { StatusRecord } from "../checkpoint/records/runRecords.ts";
import type { LogProjection } from "../checkpoint/state/LogProjection.ts";

/**
 * Returns the status of an agent whose approvals must be requested again, or no records if it does not wait for
 * approvals. A resume then runs the nodes that request them.
 */
export function statusWithoutApprovals(
  { statusState: { current }, requests }: LogProjection,
  at: number,
): readonly StatusRecord[] {
  const { record } = current ?? {};
  const listed = record?.requests ?? [];
  const left = listed.filter((id) => !requests.get(id)?.record.approval);
  if (!record || left.length === listed.length) return [];
  const { run } = record;
  if (left.length === 0) return [{ kind: "status", run, status: "in_progress", at }];
  if (record.status !== "waiting") return [{ kind: "status", run, status: record.status, at, requests: left }];
  return [{ kind: "status", run, status: "waiting", at, requests: left, answered: true }];
}
