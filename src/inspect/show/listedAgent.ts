import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { AgentSummary, RecordLog } from "../../storage/RecordLog.ts";
import { shapeOfStatus, unreadable } from "../../storage/summaries.ts";
import { agentStatuses, type AgentView, type ListedAgent } from "../view/AgentView.ts";
import type { CallView } from "../view/CallView.ts";
import type { Problem } from "../view/viewParts.ts";
import { mostCheckpoints } from "../../journal/agentSummary.ts";
import { readEntries } from "../../storage/readEntries.ts";
import { isDamage } from "../log/readIndex.ts";
import { isoTime } from "./checkpointView.ts";

export function listedAgent(summary: AgentSummary): ListedAgent {
  const { agentId, order, requestIds, runId, taskName, priority, dueAt, checkpoints, data } = summary;
  const isUnreadable = summary.status === unreadable;
  return withoutUndefined({
    agentId,
    shape: shapeOfStatus(summary.status),
    status: agentStatuses.find((known) => known === summary.status) ?? "unknown",
    reason: isUnreadable ? undefined : reasonIn(data),
    problem: isUnreadable ? problemIn(data) : undefined,
    createdAt: isUnreadable ? undefined : summary.createdAt,
    updatedAt: isUnreadable ? undefined : summary.updatedAt,
    dueAt: dueAt ?? endOfWait(data),
    runId,
    taskName,
    priority,
    requestIds,
    checkpoints,
    cursor: order,
  });
}

/** Returns when a wait ends. The summary of an agent without a task does not contain this time. */
function endOfWait(data: unknown): string | undefined {
  const { timeoutAt } = Object(data) as { readonly timeoutAt?: unknown };
  return typeof timeoutAt === "string" ? timeoutAt : undefined;
}

export function withStuck(listed: ListedAgent, agent: AgentView): ListedAgent {
  const { owner, openRollback, counts, head } = agent;
  const inDoubt = agent.inDoubt.filter((call) => !isRepeated(call));
  const state = owner === undefined || owner.state === "alive" ? "none" : owner.state;
  const stuck = { owner: state, inDoubt: inDoubt.length, openRollback: openRollback !== undefined } as const;
  const doubt = inDoubt.length === 0 ? "" : `${inDoubt.length} call${inDoubt.length === 1 ? "" : "s"} in doubt`;
  const reason = [ownerTexts[state], openRollback && "rollback not finished", doubt].filter(Boolean).join(", ");
  return { ...listed, ...(head && { updatedAt: head.at }), checkpoints: counts.checkpoints, reason, stuck };
}

/** Whether a resume makes an interrupted call again, without the decision of a person. */
export function isRepeated({ state, effect }: Pick<CallView, "state" | "effect">): boolean {
  return state === "to_repeat" || (state === "in_doubt" && effect === "idempotent");
}

const ownerTexts = { none: "no owner", gone: "owner ended", silent: "owner silent" } as const;

/** Returns the reason in the data of a status. The data may have any form, because it is read from a log. */
export function reasonIn(data: unknown): string | undefined {
  const { pauseReason, errorType, errorMessage, promptShownToUser, reason } = Object(data) as Readonly<
    Record<string, unknown>
  >;
  if (typeof errorMessage === "string")
    return typeof errorType === "string" ? `${errorType}: ${errorMessage}` : errorMessage;
  return [pauseReason, promptShownToUser, reason].find((text) => typeof text === "string" && text !== "") as
    | string
    | undefined;
}

function problemIn(data: unknown): Problem {
  const { code, message } = Object(data) as Readonly<Record<string, unknown>>;
  return { code: String(code), message: String(message) };
}

/** Reads the checkpoint count and the newest time, which a running agent's summary lacks. Empty if damaged. */
export async function readProgress(
  log: RecordLog,
  { agentId }: ListedAgent,
): Promise<Pick<ListedAgent, "checkpoints" | "updatedAt">> {
  try {
    const { index } = await readEntries(log, agentId, { sinceSnapshot: true });
    const newest = [...index.checkpoints.values()].at(-1);
    if (!newest) return {};
    return { checkpoints: mostCheckpoints(index), updatedAt: isoTime(newest.record.at) };
  } catch (error) {
    if (!isDamage(error)) throw error;
    return {};
  }
}
