import { stateDataOf } from "../../checkpoint/state/stateDataOf.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { AgentIndex, IndexedCall, Ownership, PlacedRecord } from "../log/AgentIndex.ts";
import { shownValue } from "../log/ValueLoader.ts";
import type { AgentStatus, AgentView, OwnershipView, OwnerView, RunView } from "../view/AgentView.ts";
import type { CallView } from "../view/CallView.ts";
import type { RequestView } from "../view/RequestView.ts";
import { callFacts } from "../../checkpoint/data/RequestedCalls.ts";
import { isUnsettled } from "../../checkpoint/records/callRecords.ts";
import { callViews } from "./callView.ts";
import { checkpointShower, isoTime, lineShower, usageView } from "./checkpointView.ts";
import { reasonIn } from "./listedAgent.ts";
import { openRequestIds, requestView } from "./requestView.ts";
import { modelFinder } from "../log/laneRecords.ts";
import { rollbackView } from "./rollbackView.ts";
import type { Shown } from "./Source.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import { isAboutOneAgent } from "../../storage/summaries.ts";

/** The maximum number of runs and owners in a view. */
const newest = 20;

export function agentView(shown: Shown): AgentView {
  const { index, owner } = shown;
  const { log, owners, damage, end } = index;
  const open = openRollback(index);
  return withoutUndefined({
    agentId: index.agentId,
    shape: index.shape,
    ...statusView(shown),
    ...originsOf(index),
    head: log.latest && checkpointShower(log)(log.latest),
    headIds: log.lines.openLanes.flatMap((lane) => log.latestOf(lane)?.id ?? []),
    model: modelFinder(log)(log.lines.mainLane, Infinity),
    usage: usageView(log.run && log.usageOf(log.run.run)),
    runs: [...index.runs.values()].slice(-newest).map((run) => runView(shown, run)),
    requests: openRequests(shown),
    inDoubt: callsInDoubt(shown),
    openRollback: open && rollbackView(shown, open),
    owner,
    ownerships: owners.slice(-newest).map(ownershipView),
    counts: countsOf(index),
    position: end.position,
    damage,
  }) as AgentView;
}

function statusView(shown: Shown) {
  const { index, maxValueLength } = shown;
  const { task, current, createdAt, retries, attempts } = index.log.statusState;
  const data = statusData(shown);
  return {
    status: statusOf(index),
    reason: index.damage[0]?.message ?? reasonIn(data),
    statusData: data === undefined ? undefined : shownValue(data, maxValueLength),
    createdAt: createdAt === undefined ? undefined : isoTime(createdAt),
    updatedAt: current && isoTime(current.at),
    task: task && { name: task.name, priority: task.priority ?? 0, retries, attempts },
  };
}

function originsOf({ log }: AgentIndex) {
  const origin = log.origins.at(-1)?.record;
  return {
    forkOf: origin && { agentId: origin.agentId, position: origin.position },
    movedTo: log.statusState.custody?.to,
  };
}

/** Returns `unreadable` for a damaged log, because its unread part may contain another status. */
function statusOf({ log, damage }: AgentIndex): AgentStatus {
  if (damage.length > 0) return "unreadable";
  const { custody, current } = log.statusState;
  if (custody && custody.state !== "here") return custody.state;
  return current?.status ?? "unknown";
}

/** Returns the data of the status without the output of the run, which the last step shows. */
function statusData({ index: { log, agentId } }: Shown): unknown {
  if (!log.run || !log.statusState.current) return undefined;
  const {
    finalOutput: _output,
    inputRequest: _input,
    ...data
  } = Object(stateDataOf(agentId, log.statusState)) as Readonly<Record<string, unknown>>;
  return data;
}

function openRequests(shown: Shown): readonly RequestView[] {
  const { index } = shown;
  const lineOf = lineShower(index.log);
  return [...openRequestIds(index.log)].flatMap((id) => {
    const request = index.requests.get(id);
    return request ? [requestView(shown, request, { line: lineOf(request.record.lane), isOpen: true })] : [];
  });
}

function callsInDoubt(shown: Shown): readonly CallView[] {
  const { index } = shown;
  const calls = [...index.calls.values()].filter((call) => mayBeInDoubt(index, call));
  const views = callViews(shown, calls, lineShower(index.log));
  return views.filter(({ state }) => state !== "running");
}

function mayBeInDoubt({ log }: AgentIndex, call: IndexedCall): boolean {
  const { outcome } = call;
  if (log.owners.has(call.call) || log.reverted.has(call.call)) return false;
  return isUnsettled(outcome) && callFacts(call).effect !== "none";
}

function openRollback({ log, rollbacks }: AgentIndex) {
  return log.rollback && rollbacks.findLast(({ record }) => record.target === log.rollback?.target);
}

function ownershipView({ generation, position, lastPosition, at, tookOver }: Ownership): OwnershipView {
  const time = at === undefined ? {} : { at: isoTime(at) };
  return { generation, position, lastPosition, ...time, tookOver };
}

function countsOf({ log, runs, calls, requests, rollbacks, owners }: AgentIndex): AgentView["counts"] {
  return {
    entries: log.entries,
    checkpoints: log.checkpoints.size,
    runs: runs.size,
    calls: calls.size,
    requests: requests.size,
    rollbacks: rollbacks.length,
    owners: owners.length,
  };
}

/** Returns the owner of an agent. `undefined` if the agent has no owner or the owner cannot be read. */
export async function ownerView(log: RecordLog, agentId: string): Promise<OwnerView | undefined> {
  try {
    const owner = await log.owner(agentId);
    if (!owner) return undefined;
    const { host, processId, generation, state } = owner;
    return { host, processId, generation, state };
  } catch (error) {
    if (!isAboutOneAgent(error)) throw error;
    return undefined;
  }
}

export function runView({ index: { log }, show }: Shown, { record, position }: PlacedRecord<"run">): RunView {
  const { run, input, at } = record;
  const [end] = log.runs.get(run) ?? [];
  const status = end === undefined ? "open" : log.cancelled.has(run) ? "cancelled" : "completed";
  return withoutUndefined({
    runId: run,
    startedAt: isoTime(at),
    input: show(input),
    status,
    endId: log.checkpoints.get(end ?? -1)?.id,
    position,
  }) as RunView;
}
