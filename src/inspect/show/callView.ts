import { RequestedCalls, callFacts } from "../../checkpoint/data/RequestedCalls.ts";
import type { AnswerRecord, IntentRecord, OutcomeRecord } from "../../checkpoint/records/callRecords.ts";
import type { LogProjection, OrderedRecord } from "../../checkpoint/state/LogProjection.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { AgentIndex, IndexedCall } from "../log/AgentIndex.ts";
import { problemOf } from "../log/readIndex.ts";
import { shownValue } from "../log/ValueLoader.ts";
import type { CallState, CallUndo, CallView } from "../view/CallView.ts";
import type { ShownValue, LineView } from "../view/viewParts.ts";
import { recordsBefore, recordsBetween } from "../log/laneRecords.ts";
import type { Shown, Source } from "./Source.ts";

/** The maximum number of earlier node executions in whose responses the input of a call is searched. */
const mostVisits = 8;

export function callViews(
  shown: Shown,
  calls: readonly IndexedCall[],
  lineOf: (lane: number) => LineView,
): readonly CallView[] {
  const sorted = calls.toSorted((a, b) => a.order - b.order);
  const groups = groupsOf(shown.index, sorted);
  const inputOf = inputFinder(shown, sorted);
  return sorted.map((call, at) => {
    const line = lineOf(call.lane);
    return callView(shown, call, { group: groups[at] ?? 0, line, input: inputOf(call) });
  });
}

type CallPlace = Pick<CallView, "group" | "line" | "input">;

function callView(shown: Shown, call: IndexedCall, { group, line, input }: CallPlace): CallView {
  const { outcome, intent } = call;
  const { tool, effect, node } = callFacts(call);
  const state = callState(shown, call, effect);
  const { within } = intent ?? outcome ?? {};
  const undo = callUndo(shown, call, state);
  return withoutUndefined({
    toolCallId: call.call,
    tool,
    node,
    line,
    lane: call.lane,
    effect: effect as CallView["effect"],
    state,
    undo,
    undoError: shown.index.log.left.get(call.call) ?? shown.index.undoErrors.get(call.call),
    group,
    position: call.position,
    endPosition: call.end?.position,
    input,
    output: state === "succeeded" ? shown.show(outcome?.output) : undefined,
    error: outcome?.error?.message,
    settledBy: outcome?.settled,
    within,
    madeBy: shown.index.log.owners.get(call.call),
  });
}

/** The states of calls whose effect remains. */
export const standingUndo: ReadonlySet<CallUndo> = new Set(["possible", "irreversible", "reverting", "failed", "left"]);

export function undoOf(source: Source, call: IndexedCall): CallUndo {
  return callUndo(source, call, callState(source, call, callFacts(call).effect));
}

function callState({ index, owner }: Source, { outcome, generation }: IndexedCall, effect: string): CallState {
  if (outcome) return endOf(outcome);
  const isLive = owner?.state === "alive" && owner.generation === generation && index.damage.length === 0;
  if (isLive) return "running";
  return effect === "none" ? "interrupted" : "in_doubt";
}

function endOf(outcome: OutcomeRecord): CallState {
  if (outcome.suspended) return "waiting";
  if (outcome.unstarted || outcome.retry) return "to_repeat";
  if (outcome.late) return "in_doubt";
  if (outcome.error) return "failed";
  if (outcome.moved) return "moved";
  if (outcome.unknown) return "unknown";
  return outcome.lost ? "lost" : "succeeded";
}

const withoutEffect: ReadonlySet<CallState> = new Set(["failed", "moved", "waiting", "to_repeat", "interrupted"]);

function callUndo({ index }: Source, call: IndexedCall, state: CallState): CallUndo {
  const { log } = index;
  if (log.reverted.has(call.call)) return "reverted";
  if (log.inverting.has(call.call)) return "reverting";
  if (log.left.has(call.call)) return "left";
  if (index.undoErrors.has(call.call)) return "failed";
  const { effect, inverse } = callFacts(call);
  if (withoutEffect.has(state) || (effect === "none" && !inverse)) return "no_effect";
  if (inverse) return "possible";
  return isRevertedWithFiles(index, call.call) ? "with_files" : "irreversible";
}

/** Whether a call recorded its file changes and declares no other effect, as file tools do. */
export function isRevertedWithFiles({ calls, fileCalls }: AgentIndex, call: string): boolean {
  const known = fileCalls.has(call) ? calls.get(call) : undefined;
  if (!known) return false;
  const { effect, inverse } = callFacts(known);
  return effect === "idempotent" && !inverse;
}

export function callsBegunIn({ calls }: AgentIndex, records: readonly OrderedRecord[]): readonly IndexedCall[] {
  return records.flatMap(({ record, order }): readonly IndexedCall[] => {
    const call = record.kind === "intent" || record.kind === "outcome" ? calls.get(record.call) : undefined;
    return call?.order === order ? [call] : [];
  });
}

/** Numbers groups of calls that overlap in time or belong to one response. @param calls - in start order. */
function groupsOf(index: AgentIndex, calls: readonly IndexedCall[]): readonly number[] {
  const responseOf = responseFinder(index);
  const groups: number[] = [];
  let group = -1;
  let until = -1;
  let before = "";
  for (const call of calls) {
    const facts = call.intent ?? call.outcome;
    const asked = facts && facts.ordinal === undefined ? `${call.visit.join(".")} ${responseOf(call, facts)}` : "";
    if (call.order > until && (asked === "" || asked !== before)) group++;
    until = Math.max(until, call.end?.order ?? Infinity);
    before = asked;
    groups.push(group);
  }
  return groups;
}

/** Returns a function that finds the newest response before a call. Expects calls in start order. */
function responseFinder({ log }: AgentIndex): (call: IndexedCall, facts: IntentRecord | OutcomeRecord) => string {
  const lanes = new Map<number, { readonly upTo: number; readonly newest: Map<string, number> }>();
  return ({ lane, order }, { visit: [base], within = "" }) => {
    const { upTo, newest } = lanes.get(lane) ?? { upTo: log.checkpoints.get(base)?.order ?? -1, newest: new Map() };
    for (const { record, order: at } of recordsBetween(log, lane, upTo, order))
      if (record.kind === "answer") newest.set(record.within ?? "", at);
    lanes.set(lane, { upTo: order, newest });
    return `${within} ${newest.get(within) ?? ""}`;
  };
}

/** Returns a function that finds the input of a call in the responses of its node. @param calls - in start order. */
function inputFinder(shown: Shown, calls: readonly IndexedCall[]): (call: IndexedCall) => ShownValue {
  const placeOf = ({ lane, visit }: IndexedCall) => [lane, ...visit].join();
  const last = new Map(calls.map((call) => [placeOf(call), call]));
  const found = new Map<string, RequestedCalls>();
  return (call) => {
    const own = call.intent ?? call.outcome;
    if (own && "input" in own) return shown.show(own.input);
    const place = placeOf(call);
    const requested = found.get(place) ?? requestedBefore(shown, last.get(place) ?? call);
    found.set(place, requested);
    try {
      return shownValue(requested.inputOf(call), shown.maxValueLength);
    } catch (error) {
      return { unreadable: problemOf(error) };
    }
  };
}

function requestedBefore({ show, values, index }: Shown, call: IndexedCall): RequestedCalls {
  const answers = answersBefore(index.log, call);
  for (const { record } of answers) show(record.message);
  return new RequestedCalls(answers.toReversed(), {
    read: (slot) => values.reader.read(values.slot(slot)),
    message: (slot) => values.reader.message(values.slot(slot)),
  });
}

function answersBefore(
  log: LogProjection,
  { lane, order }: IndexedCall,
): readonly { readonly record: AnswerRecord; readonly order: number }[] {
  const found: { readonly record: AnswerRecord; readonly order: number }[] = [];
  const visits = new Set<string>();
  for (const placed of recordsBefore(log, lane, order)) {
    if (placed.record.kind !== "answer") continue;
    visits.add(placed.record.visit.join());
    if (visits.size > mostVisits) break;
    found.push({ record: placed.record, order: placed.order });
  }
  return found;
}
