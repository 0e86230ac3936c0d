import { addToGroup } from "../../internal/addToGroup.ts";
import { stepViews } from "../../inspect/show/stepView.ts";
import type { Shown } from "../../inspect/show/Source.ts";
import { WorkTime } from "../../inspect/show/WorkTime.ts";
import type { CallView } from "../../inspect/view/CallView.ts";
import type { RequestView } from "../../inspect/view/RequestView.ts";
import type { AnswerView, VisitStep } from "../../inspect/view/StepView.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import {
  type RunTrace,
  type TraceCall,
  type TraceMessage,
  type TraceModelRequest,
  type TraceVisit,
  type TraceWait,
  plainValue,
} from "./RunTrace.ts";
import type { RunPath } from "./runPath.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { linePath } from "../../checkpoint/data/linePath.ts";

export function traceVisits(shown: Shown, { events }: RunPath): Pick<RunTrace, "visits" | "durationMs"> {
  const { log } = shown.index;
  const time = new WorkTime();
  const parts: TimedVisit[] = [];
  for (const step of stepViews(shown, events)) {
    time.see(step);
    // A move to the end of a run adds a step without an execution.
    if (step.kind === "visit" && step.node !== "finish") parts.push({ ...step, took: time.tookOf(step) });
  }
  const visits = withRequestedOrder(nestedOrder(log, wholeVisits(log, parts)).map(traceVisit));
  return withoutUndefined({ visits, durationMs: time.total() });
}

/** Sorts the calls of models as the responses request them, because parallel calls start in any order. */
export function withRequestedOrder(visits: readonly TraceVisit[]): readonly TraceVisit[] {
  const ids = visits.flatMap(({ requests }) => requests.flatMap(({ response }) => requestedIds(response)));
  const ranks = new Map(ids.map((id, at) => [id, at]));
  const rankOf = ({ toolCallId }: TraceCall): number | undefined => ranks.get(toolCallId);
  return visits.map((visit) => {
    const requested = visit.calls.filter((call) => rankOf(call) !== undefined);
    const sorted = requested.toSorted((one, other) => (rankOf(one) ?? 0) - (rankOf(other) ?? 0)).values();
    return {
      ...visit,
      calls: visit.calls.map((call) => (rankOf(call) === undefined ? call : (sorted.next().value ?? call))),
    };
  });
}

/** Returns the ids of the calls in a response. A response comes from a log, so it may have any form. */
function requestedIds(response: unknown): readonly unknown[] {
  const { content } = Object(response) as { readonly content?: unknown };
  const parts: readonly unknown[] = Array.isArray(content) ? content : [];
  return parts.map((part) => (Object(part) as { readonly toolCallId?: unknown }).toolCallId);
}

function traceVisit(step: TimedVisit): TraceVisit {
  const { node, line, state, checkpoint, startedAt, output, answers, calls, requests, changes } = step;
  const added = changes.messages.added.map(({ message, ...place }) => ({ ...place, message: plainValue(message) }));
  return withoutUndefined({
    node,
    branch: line.branch,
    agentPath: line.agentPath.length === 0 ? undefined : line.agentPath,
    state,
    checkpointId: checkpoint?.checkpointId,
    startedAt,
    durationMs: step.took,
    output: output && plainValue(output),
    requests: modelRequests(answers, added),
    calls: calls.map(traceCall),
    waits: requests.map(traceWait),
    messages: { added, removed: changes.messages.removed },
  });
}

/**
 * Counts the messages of each request, which are the messages before the response. A response that the node discarded
 * is not in the history.
 */
function modelRequests(answers: readonly AnswerView[], added: readonly TraceMessage[]): readonly TraceModelRequest[] {
  const texts = added.map(({ message }) => JSON.stringify(message));
  let from = 0;
  return answers.map(({ message, model, finish, usage, failures, within }) => {
    const response = plainValue(message);
    const at = texts.indexOf(JSON.stringify(response), from);
    const newMessages = at === -1 ? from : at;
    from = at === -1 ? from : at + 1;
    return withoutUndefined({ newMessages, response, model, finish, usage, failures, within });
  });
}

function traceCall({ toolCallId, tool, effect, state, input, output, error, within }: CallView): TraceCall {
  return withoutUndefined({
    toolCallId,
    tool,
    effect,
    state,
    input: plainValue(input),
    output: output && plainValue(output),
    error,
    within,
  });
}

function traceWait({ kind, state, prompt, call, answer, rejection }: RequestView): TraceWait {
  return withoutUndefined({
    kind,
    state,
    prompt: plainValue(prompt),
    tool: call?.tool,
    answer: answer && plainValue(answer),
    rejection,
  });
}

/** A node execution, or a part of one, with its duration in milliseconds. */
interface TimedVisit extends VisitStep {
  readonly took?: number | undefined;
}

/**
 * Joins the steps of one execution, which checkpoints within the execution or at the join of branches divide. A
 * rollback to such a checkpoint continues the execution on another lane. A move to an execution point abandons the
 * execution.
 */
function wholeVisits(
  { checkpoints, lanes, laneRecords }: LogProjection,
  steps: readonly TimedVisit[],
): readonly TimedVisit[] {
  const whole: TimedVisit[] = [];
  const begun = new Map<number, TimedVisit>();
  const continues = ({ checkpoint }: TimedVisit): boolean => {
    const { visit, joined, unresolved } = checkpoints.get(checkpoint?.version ?? -1)?.record ?? {};
    return visit !== undefined || joined !== undefined || unresolved === true;
  };
  const isAtNewPoint = (lane: number): boolean => {
    const { record } = laneRecords.get(lane)?.find((each) => each.record.kind === "checkpoint") ?? {};
    return record?.kind === "checkpoint" && record.move === "execution_point";
  };
  const beforeLane = (lane: number) => checkpoints.get(lanes.get(lane)?.record.from ?? -1)?.record.lane ?? -1;
  for (const step of steps) {
    const lane = begun.has(step.lane) ? step.lane : beforeLane(step.lane);
    const before = begun.get(lane);
    const isAbandoned = lane !== step.lane && isAtNewPoint(step.lane);
    const both = before && !isAbandoned ? joinedSteps(before, step) : step;
    begun.delete(lane);
    if (continues(step)) begun.set(step.lane, both);
    else whole.push(both);
  }
  return [...whole, ...begun.values()].toSorted((one, other) => one.order - other.order);
}

function joinedSteps(one: TimedVisit, other: TimedVisit): TimedVisit {
  const { messages } = one.changes;
  return withoutUndefined({
    ...other,
    node: one.node,
    startedAt: one.startedAt,
    took: one.took === undefined ? other.took : one.took + (other.took ?? 0),
    answers: [...one.answers, ...other.answers],
    calls: [...one.calls, ...other.calls],
    requests: [...one.requests, ...other.requests],
    changes: {
      ...other.changes,
      messages: {
        added: [...messages.added, ...other.changes.messages.added],
        removed: [...messages.removed, ...other.changes.messages.removed],
      },
    },
  });
}

interface PlacedVisit {
  readonly lane: number;
  readonly order: number;
}

/**
 * Sorts visits, given in log order, independently of the timing of parallel lines. Nested visits precede the visit that
 * contains them. Lines of one visit are sorted by branch, or by the start of their call.
 */
export function nestedOrder<Visit extends PlacedVisit>(log: LogProjection, visits: readonly Visit[]): readonly Visit[] {
  const byLine = new Map<number, Visit[]>();
  for (const visit of visits) addToGroup(byLine, firstLane(log, visit.lane), visit);
  const nested = new Map<number, number[]>();
  for (const line of byLine.keys()) if (line !== mainLine) addToGroup(nested, parentLine(log, line), line);
  const begunAt = (line: number): number => log.lines.nestedLine(line)?.begun ?? -1;
  const sorted = (line: number): readonly Visit[] => {
    const open = (nested.get(line) ?? []).toSorted((one, other) => begunAt(one) - begunAt(other));
    let from = 0;
    return [...(byLine.get(line) ?? []), undefined].flatMap((visit) => {
      const first = from;
      while (from < open.length && (!visit || begunAt(open[from] ?? -1) < visit.order)) from++;
      const inside = open.slice(first, from).toSorted((one, other) => compareLines(log, one, other));
      return [...inside.flatMap(sorted), ...(visit ? [visit] : [])];
    });
  };
  return sorted(mainLine);
}

const mainLine = -1;

/** Identifies a line by its first lane, because a rollback inside a line starts a new lane. */
function firstLane(log: LogProjection, lane: number): number {
  return log.lines.nestedLine(lane)?.first ?? mainLine;
}

function parentLine(log: LogProjection, line: number): number {
  const parent = log.lines.nestedLine(line)?.place.parent;
  return parent === undefined || parent >= line ? mainLine : firstLane(log, parent);
}

function compareLines(log: LogProjection, one: number, other: number): number {
  const [a = "", b = ""] = [linePath(log, one).branch, linePath(log, other).branch];
  return a.localeCompare(b, "en", { numeric: true }) || one - other;
}
