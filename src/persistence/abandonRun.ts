import { nextVisitOf } from "../checkpoint/AgentState.ts";
import type { CheckpointRecord } from "../checkpoint/records.ts";
import type { Journal } from "../journal/Journal.ts";
import { agentSummary } from "./agentSummary.ts";
import type { StoredState } from "./beginRun.ts";

/** Ends an unfinished run as it stands: its effects stay and stay revertible. */
export async function abandonRun(journal: Journal, { log, state }: StoredState): Promise<void> {
  const { checkpoint, run, lane } = state;
  const version = journal.nextVersion++;
  const at = journal.clock.now();
  const runId = run?.run ?? state.runId;
  const end: CheckpointRecord = {
    kind: "checkpoint",
    lane,
    version,
    at,
    node: checkpoint?.record.node ?? "start",
    input: checkpoint ? checkpoint.record.input : run?.input,
    visit: nextVisitOf(state),
    iteration: checkpoint?.record.iteration ?? 0,
    status: "cancelled",
  };
  const summary = agentSummary({
    agentId: journal.agentId,
    runId,
    status: "cancelled",
    createdAt: log.index.createdAt ?? at,
    updatedAt: at,
    data: { cancelledAt: new Date(at).toISOString(), reason: "abandoned for another run" },
  });
  journal.runs.set(runId, [version, journal.position + 1]);
  journal.cancelled.add(runId);
  journal.append([end], { summary });
  await journal.durable();
}
