import type { AgentContext } from "../../agent/context/AgentContext.ts";
import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import { endsOf, visitIn, visitOf, withinOf } from "../../agent/feature/ContextBinding.ts";
import type { PromptAnswer } from "../../agent/model/PromptExecutor.ts";
import { decideRecorded } from "../../agent/tool/recordedCall.ts";
import { callFacts } from "../../checkpoint/data/RequestedCalls.ts";
import type { AssistantMessage } from "../../checkpoint/messages/Message.ts";
import type { NoteRecord } from "../../checkpoint/records/AgentRecord.ts";
import { type FailedRequest, isOver, type OutcomeRecord } from "../../checkpoint/records/callRecords.ts";
import { isRefusal } from "../../checkpoint/records/requestRecords.ts";
import { answerKey, failureKey, isSameVisit, isSinceVisit, type Visit } from "../../checkpoint/records/Visit.ts";
import type { AgentState, RecordedAnswer, RecordedCall } from "../../checkpoint/state/AgentState.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import type { ValueReader } from "../../checkpoint/state/ValueReader.ts";
import { isSameValue } from "../../checkpoint/values/isSameValue.ts";
import { renamedTools } from "../../checkpoint/values/renamed.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { CallOrigin, ToolCallEvent } from "../../agent/feature/PipelineEvents.ts";
import { ReplayDivergedError } from "../../errors/runErrors.ts";

interface RecordedModelAnswer {
  readonly answer: PromptAnswer;
  readonly asked: string | undefined;
  readonly failed: readonly FailedRequest[];
}

/** The recorded work of the next node. If the node repeats its requests and calls, they get the recorded results. */
export class Replay {
  readonly #answers = new Map<string, RecordedModelAnswer & { readonly visit: Visit }>();
  readonly #calls = new Map<string, RecordedCall>();
  readonly #placed = new Map<string, RecordedCall>();
  readonly #askedFor = new Set<string>();
  readonly #outputs = new Map<string, unknown>();
  readonly #changes = new Map<string, unknown>();
  readonly #inputs = new Map<string, unknown>();
  readonly #notes = new Map<string, { readonly key: string; readonly value: unknown }[]>();
  readonly #recorded: Pick<AgentState, "answers" | "requests">;
  readonly #asksAgain: boolean;
  readonly #last: Visit | undefined;

  /** @param from The first node execution that is repeated. Records of earlier ones are ignored. */
  constructor(state: AgentState, reader: ValueReader, index: LogProjection, from: Visit) {
    const again = (visit: Visit) => isSinceVisit(visit, from);
    for (const [key, record] of state.answers) {
      const { visit, failed = [] } = record;
      // After a tool was renamed, the digest differs, so that only the place of the request is compared.
      const asked = record.renames ? undefined : record.asked;
      if (again(visit)) this.#answers.set(key, { visit, answer: answerOf(record, reader), asked, failed });
    }
    this.#recorded = { answers: state.answers, requests: state.requests };
    this.#asksAgain = index.requests.asksAgain;
    const failed = new Set(index.statusState.failedCalls);
    for (const call of state.calls.values())
      if (again(call.visit) && index.counts(call) && !isMadeAgain(call.outcome))
        this.#addCall(failed.has(call.call) ? triedAgain(call) : call, reader);
    for (const note of state.notes) this.#addNote(note, reader);
    this.#last = recordedVisits(state).filter(again).reduce(later, undefined);
  }

  /** Returns whether the log contains records of the next node. */
  reaches({ visitBase, visitOrdinal }: Pick<AgentRun, "visitBase" | "visitOrdinal">): boolean {
    return this.#last !== undefined && this.#last[0] === visitBase && this.#last[1] >= visitOrdinal;
  }

  #addCall(recorded: RecordedCall, reader: ValueReader): void {
    const { call, visit, intent, outcome } = recorded;
    this.#calls.set(call, recorded);
    if (outcome?.output !== undefined) this.#outputs.set(call, reader.read(outcome.output));
    if (outcome?.changes !== undefined) this.#changes.set(call, reader.read(outcome.changes));
    const { ordinal, within, ...own } = intent ?? outcome ?? {};
    if ("input" in own) this.#inputs.set(call, reader.read(own.input));
    if (ordinal !== undefined) this.#placed.set(answerKey(visit, ordinal, within), recorded);
  }

  #addNote({ call = "", key, value }: NoteRecord, reader: ValueReader): void {
    if (!this.#calls.has(call)) return;
    const noted = this.#notes.get(call) ?? [];
    noted.push({ key, value: reader.read(value) });
    this.#notes.set(call, noted);
  }

  answer(visit: Visit, ordinal: number, within: string | undefined): RecordedModelAnswer | undefined {
    return this.#answers.get(answerKey(visit, ordinal, within));
  }

  #call(id: string): RecordedCall | undefined {
    this.#askedFor.add(id);
    return this.#calls.get(id);
  }

  #callAt(visit: Visit, ordinal: number, within: string | undefined): RecordedCall | undefined {
    const call = this.#placed.get(answerKey(visit, ordinal, within));
    if (call) this.#askedFor.add(call.call);
    return call;
  }

  /** Prepares the order in which a node receives its results: first all recorded ones. */
  expectEnds(context: AgentContext): void {
    const recorded = { ...this.#recorded, calls: this.#calls };
    for (const key of recordedEnds(recorded, visitIn(visitOf(context)))) endsOf(context).add(key);
  }

  /**
   * Returns the record of a call. If the call differs, discards the replay of the node and returns `undefined`.
   *
   * @throws ReplayDivergedError if the first attempt had an effect
   */
  recordedCall(event: ToolCallEvent): RecordedCall | undefined {
    const { origin, tool, context, input, toolCallId } = event;
    const visit = visitIn(event.visit);
    const isAsked = origin.kind === "model";
    const recorded = isAsked ? this.#call(toolCallId) : this.#callAt(visit, origin.ordinal, withinOf(context));
    if (!recorded || this.#isSame(recorded, event, isAsked ? inputAskedFor(origin) : input)) return recorded;
    const before = callFacts(recorded).tool;
    const found = before === tool.name ? `a call of "${tool.name}" with another input` : `a call of "${tool.name}"`;
    this.discard(context, visit, { recorded: `a call of "${before}" (${recorded.call})`, found });
    return undefined;
  }

  /** Returns whether a call equals the recorded call. @param asked The input of the call in the recorded response. */
  #isSame(recorded: RecordedCall, { tool, input }: ToolCallEvent, asked: unknown): boolean {
    const { call } = recorded;
    const before = this.#inputs.has(call) ? this.#inputs.get(call) : asked;
    return callFacts(recorded).tool === tool.name && (before === input || isSameValue(before, input));
  }

  /** Returns whether a recorded call needs a valid approval. `areChecked`: its record is no proof of approval. */
  needsApproval({ outcome }: RecordedCall, areChecked: boolean): boolean {
    return (areChecked || this.#asksAgain) && !isOver(outcome);
  }

  /** Checks that a finished node has repeated all recorded calls with an effect. @throws ReplayDivergedError */
  assertComplete(agentId: string, nodeId: string, visit: Visit): void {
    const effects = this.#effectsOf(visit);
    // A call within another call is repeated only by that call.
    const isOwn = (call: RecordedCall) => (call.intent ?? call.outcome)?.within === undefined;
    const missing = effects.find((call) => isOwn(call) && !this.#askedFor.has(call.call));
    if (!missing) return;
    const recorded = `a call of "${callFacts(missing).tool}" (${missing.call})`;
    throw new ReplayDivergedError(agentId, nodeId, recorded, "nothing more", effects.map(shown));
  }

  /**
   * Discards the remaining records of a node whose request differs from the recorded one.
   *
   * @throws ReplayDivergedError if the first attempt had an effect
   */
  discard(
    context: AgentContext,
    visit: Visit,
    { recorded, found }: { readonly recorded: string; readonly found: string },
  ): void {
    const effects = this.#effectsOf(visit);
    if (effects.length > 0)
      throw new ReplayDivergedError(context.agentId, context.nodeId, recorded, found, effects.map(shown));
    for (const [key, answer] of this.#answers) if (isSameVisit(answer.visit, visit)) this.#answers.delete(key);
    for (const [key, call] of this.#placed) if (isSameVisit(call.visit, visit)) this.#placed.delete(key);
    for (const { call, visit: of } of this.#calls.values()) if (isSameVisit(of, visit)) this.#calls.delete(call);
    endsOf(context).forgetUnreached();
  }

  #effectsOf(visit: Visit): readonly RecordedCall[] {
    const hadEffect = (call: RecordedCall) => callFacts(call).effect !== "none" && !call.outcome?.error;
    return [...this.#calls.values()].filter((call) => isSameVisit(call.visit, visit) && hadEffect(call));
  }

  notesOf(call: string, key: string): readonly unknown[] {
    const notes = this.#notes.get(call) ?? [];
    return notes.filter((note) => note.key === key).map(({ value }) => value);
  }

  outputOf(call: string): unknown {
    return this.#outputs.get(call);
  }

  changesOf(call: string): unknown {
    return this.#changes.get(call);
  }
}

function answerOf(
  { message: slot, usage, finish: finishReason, renames = [] }: RecordedAnswer,
  reader: ValueReader,
): PromptAnswer {
  const message = renamedTools(reader.message(slot) as AssistantMessage, renames);
  return withoutUndefined({ message, usage, finishReason });
}

/** Returns the node executions with recorded responses, calls or requests. Can contain duplicates. */
function recordedVisits({ answers, calls, requests }: AgentState): readonly Visit[] {
  const asked = [...requests.values()].map(({ record }) => record);
  return [...answers.values(), ...calls.values(), ...asked].map(({ visit }) => visit);
}

function later(a: Visit | undefined, b: Visit): Visit {
  return a && a[1] > b[1] ? a : b;
}

/** Marks a failed call for a retry under its id, because its failure ended the run. */
function triedAgain(call: RecordedCall): RecordedCall {
  return call.outcome?.error ? { ...call, outcome: { ...call.outcome, retry: true } } : call;
}

/** Returns whether a call has no result to replay, so that its tool runs again. */
function isMadeAgain(outcome: OutcomeRecord | undefined): boolean {
  return outcome !== undefined && (outcome.moved ?? outcome.unstarted ?? outcome.suspended) === true;
}

type Recorded = Pick<AgentState, "answers" | "calls" | "requests">;

interface End {
  /** The id of the call or request, or the place of the model request. */
  readonly key: string;
  readonly order: number;
  readonly visit: Visit;
  readonly around: readonly (string | undefined)[];
}

/** Returns the keys of a node's recorded results in log order. Omits results within finished calls. */
function recordedEnds(recorded: Recorded, of: Visit): readonly string[] {
  const { calls } = recorded;
  const isFinished = (call = ""): boolean => {
    const known = calls.get(call);
    return known !== undefined && (hasEnded(known) || isFinished(callAround(known)));
  };
  const isOwn = ({ visit, around }: End) => isSameVisit(visit, of) && !around.some(isFinished);
  const own = allEnds(recorded).filter(isOwn);
  const keys = own.sort((a, b) => a.order - b.order).map(({ key }) => key);
  for (const { key } of own) addFailures(keys, key, recorded.answers.get(key));
  return keys;
}

/** Adds the failed requests before a response, except failed attempts of the request with that response. */
function addFailures(keys: string[], place: string, response: RecordedAnswer | undefined): void {
  for (const [number, { asked, after }] of (response?.failed ?? []).entries()) {
    if (asked === response?.asked) continue;
    const at = after === undefined ? 0 : keys.indexOf(after) + 1 || keys.indexOf(place);
    keys.splice(at, 0, failureKey(place, number));
  }
}

function allEnds({ answers, calls, requests }: Recorded): readonly End[] {
  return [
    ...[...answers].map(([key, { visit, order, within }]) => ({ key, order, visit, around: [within] })),
    ...[...calls.values()].flatMap((call) =>
      hasEnded(call) ? { key: call.call, order: call.order, visit: call.visit, around: [callAround(call)] } : [],
    ),
    ...[...requests.values()].flatMap(({ record, reply, repliedAt: order = 0 }) => {
      const { request: key, visit, within, around = [], approval } = record;
      // An approval only lets its call start, so that it is not a result.
      return reply && (!approval || isRefusal(reply)) ? { key, order, visit, around: [within, ...around] } : [];
    }),
  ];
}

function callAround({ intent, outcome }: RecordedCall): string | undefined {
  return (intent ?? outcome)?.within;
}

function hasEnded(call: RecordedCall): boolean {
  const { outcome } = call;
  return isOver(outcome) && decideRecorded(outcome, callFacts(call).effect) === "replay";
}

function shown(call: RecordedCall): ReplayDivergedError["effects"][number] {
  const { outcome } = call;
  const inDoubt = !outcome || outcome.retry === true || outcome.unknown === true;
  return { toolCallId: call.call, toolName: callFacts(call).tool, inDoubt };
}

/** Returns the input in the response. The input of the call can differ, because another runtime may have parsed it. */
function inputAskedFor({ message, index }: Extract<CallOrigin, { readonly kind: "model" }>): unknown {
  const part = message.content[index];
  return typeof part === "object" && part.type === "tool-call" ? part.input : undefined;
}
