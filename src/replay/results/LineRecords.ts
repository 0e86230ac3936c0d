import { addToGroup } from "../../internal/addToGroup.ts";
import { answerKey, failureKey, type Visit } from "../../checkpoint/records/Visit.ts";
import type { RecordedInput, LineRecording, RecordedResponse, RecordedToolCall } from "../recording/Recording.ts";

interface End {
  readonly key: string;
  readonly order: number;
}

export interface InputPlace {
  readonly visit: Visit;
  readonly id: string | undefined;
  readonly question: string;
  readonly ordinal: number | undefined;
  readonly within: string | undefined;
  readonly isApproval: boolean;
}

/** The results of a line by place, and the results that the replayed run has requested. */
export class LineRecords {
  readonly #responses = new Map<string, RecordedResponse>();
  readonly #calls = new Map<string, RecordedToolCall>();
  readonly #placed = new Map<string, RecordedToolCall>();
  readonly #inputs = new Map<string, RecordedInput>();
  readonly #visits = new Map<string, (RecordedResponse | RecordedToolCall)[]>();
  readonly #ends = new Map<string, End[]>();
  readonly #refused = new Set<string>();
  readonly #asked = new Set<unknown>();

  constructor({ answers, calls, requests }: LineRecording) {
    for (const answer of answers) this.#addResponse(answer);
    for (const call of calls) this.#addCall(call);
    for (const request of requests) this.#addInput(request);
    for (const ends of this.#ends.values()) ends.sort((a, b) => a.order - b.order);
    for (const answer of answers) this.#addFailures(answer);
  }

  response(visit: Visit, ordinal: number, within: string | undefined): RecordedResponse | undefined {
    return this.#take(this.#responses.get(answerKey(visit, ordinal, within)));
  }

  call(toolCallId: string): RecordedToolCall | undefined {
    return this.#take(this.#calls.get(toolCallId));
  }

  callAt(visit: Visit, ordinal: number, within: string | undefined): RecordedToolCall | undefined {
    return this.#take(this.#placed.get(answerKey(visit, ordinal, within)));
  }

  input(place: InputPlace): RecordedInput | undefined {
    return this.#take(this.#inputs.get(inputKey(place)));
  }

  isRecordedCall(toolCallId: string): boolean {
    return this.#calls.has(toolCallId);
  }

  isRefusedCall(toolCallId: string): boolean {
    return this.#refused.has(toolCallId);
  }

  /** Returns the keys of the results of a visit in the order of their ends. */
  endsOf(visit: Visit): readonly End[] {
    return this.#ends.get(visitKey(visit)) ?? [];
  }

  /** Returns the results of a visit that the node of the visit has not requested. */
  unasked(visit: Visit): readonly (RecordedResponse | RecordedToolCall)[] {
    return (this.#visits.get(visitKey(visit)) ?? []).filter((result) => !this.#asked.has(result));
  }

  hasVisit(visit: Visit): boolean {
    return this.#visits.has(visitKey(visit));
  }

  #take<Result>(found: Result): Result {
    if (found !== undefined) this.#asked.add(found);
    return found;
  }

  #addResponse(answer: RecordedResponse): void {
    const { visit, ordinal, within, order } = answer;
    const key = answerKey(visit, ordinal, within);
    this.#responses.set(key, answer);
    if (within !== undefined) return;
    add(this.#visits, visit, answer);
    add(this.#ends, visit, { key, order });
  }

  /** Adds the ends of failed requests, between the result that each names and the response. */
  #addFailures({ visit, ordinal, within, order, failed }: RecordedResponse): void {
    const ends = this.#ends.get(visitKey(visit));
    if (within !== undefined || !ends) return;
    const place = answerKey(visit, ordinal, within);
    const indexOf = (key: string) => ends.findIndex((end) => end.key === key);
    for (const [number, { after }] of failed.entries()) {
      const at = after === undefined ? 0 : indexOf(after) + 1 || indexOf(place);
      ends.splice(at, 0, { key: failureKey(place, number), order });
    }
  }

  #addCall(call: RecordedToolCall): void {
    const { toolCallId: key, visit, ordinal, within, order, outcome } = call;
    this.#calls.set(key, call);
    if (ordinal !== undefined) this.#placed.set(answerKey(visit, ordinal, within), call);
    if (within !== undefined || !outcome) return;
    add(this.#visits, visit, call);
    add(this.#ends, visit, { key, order });
  }

  #addInput(request: RecordedInput): void {
    const { visit, id, question = "", ordinal, within, approval, reply, order, requestId: key } = request;
    const isApproval = approval !== undefined;
    this.#inputs.set(inputKey({ visit, id, question, ordinal, within, isApproval }), request);
    const isRefused = reply && !("answer" in reply);
    if (isApproval && isRefused) this.#refused.add(approval);
    if (reply && within === undefined && (!isApproval || isRefused)) add(this.#ends, visit, { key, order });
  }
}

function add<Item>(items: Map<string, Item[]>, visit: Visit, item: Item): void {
  addToGroup(items, visitKey(visit), item);
}

function visitKey([base, ordinal]: Visit): string {
  return `${base}.${ordinal}`;
}

function inputKey({ visit, id, question, ordinal, within, isApproval }: InputPlace): string {
  const own = id === undefined ? [within ?? "", question, ordinal ?? 0] : [{ id }, question];
  return JSON.stringify([...visit, ...own, isApproval]);
}
