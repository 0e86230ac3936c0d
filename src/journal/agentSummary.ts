import type { StatusState } from "../checkpoint/state/StatusState.ts";
import { stateDataOf } from "../checkpoint/state/stateDataOf.ts";
import type { AgentSummary } from "../storage/RecordLog.ts";

/** The picture of an agent, for lists and other tools; `undefined` while it has had no run. */
export function agentSummary(agentId: string, life: StatusState): AgentSummary | undefined {
  const { task, run, standing, createdAt } = life;
  if (!run || !standing) return undefined;
  const created = new Date(createdAt ?? run.at).toISOString();
  const until = standing.record?.until;
  return {
    agentId,
    runId: run.run,
    ...(task && { taskName: task.name }),
    ...(task?.priority !== undefined && { priority: task.priority }),
    ...(task && standing.status !== "queued" && { inputRequest: run.input }),
    status: standing.status,
    order: `${priorityOrder(task?.priority ?? 0)}${created} ${agentId}`,
    ...(until !== undefined && { dueAt: new Date(until).toISOString() }),
    requestIds: standing.record?.requests ?? [],
    position: 0,
    createdAt: created,
    updatedAt: new Date(standing.at).toISOString(),
    data: stateDataOf(agentId, life),
  };
}

/** Text that sorts higher priorities before, and lower ones behind, a date; nothing for the usual one, 0. */
function priorityOrder(priority: number): string {
  if (priority === 0) return "";
  const digits = 16;
  return priority > 0
    ? `!${String(Number.MAX_SAFE_INTEGER - priority).padStart(digits, "0")} `
    : `~${String(-priority).padStart(digits, "0")} `;
}

const orderFormat = /^(?:[!~]\d{16} )?(?:\d{4}|[+-]\d{6})-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ./s;

/** Whether a text has the form of the `order` of a summary. */
export function isSummaryOrder(text: string): boolean {
  return orderFormat.test(text);
}
