import { type AgentRecord, isOfState } from "../records/AgentRecord.ts";
import { type IntentRecord, isOver, type OutcomeRecord } from "../records/callRecords.ts";
import { isRefusal, type RequestRecord } from "../records/requestRecords.ts";
import { answerKey, type Visit } from "../records/Visit.ts";
import {
  type AgentState,
  answerRecord,
  askedAgain,
  emptyState,
  nextVisitOf,
  type RecordedAnswer,
  type RecordedCall,
  type RecordedRequest,
} from "../state/AgentState.ts";
import { foldTo, recordByValue } from "../state/foldTo.ts";
import type { LogProjection } from "../state/LogProjection.ts";
import type { CallIds } from "./CallIds.ts";
import type { LineAt } from "./linesAt.ts";

interface NewLane {
  readonly lane: number;
  readonly state: AgentState;
  readonly ids: CallIds;
  readonly visitOf: (visit: Visit) => Visit;
  readonly isFork: boolean;
  readonly at: number;
  readonly asksAgain: boolean;
  readonly isTriedAgain: (call: string) => boolean;
}

/** Returns the records after a checkpoint for a new lane. Includes earlier records of the node if ids change. */
export function recordsSince(index: LogProjection, line: LineAt, to: NewLane): Restating {
  return new Restating(index, line, to);
}

class Restating {
  readonly #ordered: { readonly order: number; readonly record: AgentRecord }[] = [];
  readonly requests = new Map<string, string>();
  readonly #line: LineAt;
  readonly #to: NewLane;
  readonly #known: AgentState;
  readonly #after: number;
  readonly #isAskedAgain: (request: RecordedRequest) => boolean;

  constructor(index: LogProjection, line: LineAt, to: NewLane) {
    this.#line = line;
    this.#to = to;
    this.#known = (line.point && foldTo(index, line.point)) ?? emptyState;
    this.#after = line.point?.order ?? -1;
    this.#isAskedAgain = askedAgain(to.state, index.statusState);
    const [base] = nextVisitOf(to.state);
    const isNow = ({ visit }: { readonly visit: Visit }) => visit[0] === base;
    const { answers, calls, requests } = to.state;
    this.#addState(index);
    for (const [key, answer] of answers) if (isNow(answer)) this.#addAnswer(key, answer);
    for (const call of calls.values()) if (isNow(call)) this.#addCall(call);
    for (const request of requests.values()) if (isNow(request.record)) this.#addRequest(this.#askedAgain(request));
    this.#addNotes(index);
  }

  /** The records in log order, because a replay delivers the results in this order. */
  get records(): readonly AgentRecord[] {
    return this.#ordered.toSorted((a, b) => a.order - b.order).map(({ record }) => record);
  }

  #add(order: number, ...records: readonly AgentRecord[]): void {
    for (const record of records) this.#ordered.push({ order, record });
  }

  #addAnswer(key: string, answer: RecordedAnswer): void {
    const moved = { ...answerRecord(answer), ...this.#placeOf(answer) };
    const isKnown = this.#known.answers.get(key)?.order === answer.order;
    if (!isKnown || answerKey(moved.visit, moved.ordinal, moved.within) !== key) this.#add(answer.order, moved);
  }

  #addState(index: LogProjection): void {
    for (const ordered of index.laneRecords.get(this.#line.lane) ?? [])
      if (this.#isSince(ordered.order) && (isOfState(ordered.record) || ordered.record.kind === "structure"))
        this.#add(ordered.order, this.#onLane(recordByValue(index, ordered)));
  }

  #addNotes(index: LogProjection): void {
    if (!this.#to.isFork) return;
    for (const { record, order } of index.laneRecords.get(this.#line.lane) ?? [])
      if (record.kind === "note" && this.#isSince(order)) this.#add(order, this.#onLane(record));
  }

  #addCall(call: RecordedCall): void {
    const { intent, outcome } = call;
    if (this.#to.isFork && !isOver(outcome)) return;
    if (this.#to.isTriedAgain(call.call)) return this.#tryAgain(call);
    const facts = intent ?? outcome;
    const isChanged = facts?.within !== undefined && this.#to.ids.of(facts.within, call.visit) !== facts.within;
    if (!isChanged && !this.#isSince(call.order)) return;
    for (const record of [intent, outcome]) if (record) this.#add(call.order, this.#moved(record));
  }

  /** Marks the failed call for a retry, so that the failure that ended the run is not replayed. */
  #tryAgain({ call, visit, order }: RecordedCall): void {
    this.#add(order, { kind: "outcome", lane: this.#to.lane, visit: this.#to.visitOf(visit), call, retry: true });
  }

  /** Returns whether the node makes a new request: after a rollback, or if the expired request failed the run. */
  #isDropped(request: RecordedRequest): boolean {
    return request.reply ? this.#isAskedAgain(request) : request.record.lane !== this.#line.lane;
  }

  /** Returns the request for the new lane. A fork needs a new approval for a call that it has yet to make. */
  #askedAgain(request: RecordedRequest): RecordedRequest | undefined {
    const { record, reply } = request;
    const { approval, expiresAt = Infinity } = record;
    if (!this.#to.isFork || !approval || (reply && isRefusal(reply))) return request;
    if (this.#to.asksAgain) return undefined;
    if (!reply) return request;
    const call = this.#to.state.calls.get(approval.call);
    const isMade = isOver(call?.outcome) && !this.#to.isTriedAgain(approval.call);
    // An expired request stays, because its node handles the expiry.
    return isMade || expiresAt <= this.#to.at ? undefined : { record };
  }

  #addRequest(request: RecordedRequest | undefined): void {
    if (!request || this.#isDropped(request)) return;
    const { record, reply, repliedAt = Infinity } = request;
    const before = this.#known.requests.get(record.request);
    const asked = this.#asked(record);
    if (reply && before?.record === record && before.reply === reply && namesSameCalls(asked, record)) return;
    this.#add(repliedAt, asked, ...(reply ? [{ ...reply, request: asked.request, lane: this.#to.lane }] : []));
    if (!reply) this.requests.set(record.request, asked.request);
  }

  #asked(record: RequestRecord): RequestRecord {
    const { approval, around, visit } = record;
    const { ids } = this.#to;
    return {
      ...this.#moved(record),
      request: ids.ofRequest(record),
      ...(around && { around: around.map((call) => ids.of(call, visit)) }),
      ...(approval && { approval: { ...approval, call: ids.of(approval.call, visit) } }),
    };
  }

  #moved<Moved extends IntentRecord | OutcomeRecord | RequestRecord>(record: Moved): Moved {
    return { ...record, ...this.#placeOf(record) };
  }

  #placeOf({ visit, within }: { readonly visit: Visit; readonly within?: string }) {
    const own = within === undefined ? {} : { within: this.#to.ids.of(within, visit) };
    return { lane: this.#to.lane, visit: this.#to.visitOf(visit), ...own };
  }

  #onLane(record: AgentRecord): AgentRecord {
    return "lane" in record ? { ...record, lane: this.#to.lane } : record;
  }

  #isSince(order: number): boolean {
    return order > this.#after && order <= this.#line.upTo;
  }
}

function namesSameCalls(one: RequestRecord, other: RequestRecord): boolean {
  return one.within === other.within && one.approval?.call === other.approval?.call;
}
