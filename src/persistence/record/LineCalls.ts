import type { FailedRequest, IntentRecord, OutcomeRecord } from "../../checkpoint/records/callRecords.ts";
import type { MessageHistory } from "../../checkpoint/messages/MessageHistory.ts";
import { callIdsIn } from "../replay/countedCalls.ts";
import type { EarlierCalls } from "../replay/EarlierCalls.ts";

export class LineCalls {
  readonly performed = new Map<string, Promise<unknown>>();
  /** Calls of earlier nodes whose results are only in the log. */
  readonly #forgotten = new Set<string>();
  #forgetAbove = 100;
  /** Failed model requests by visit and number, recorded with the later response of the same number. */
  readonly failedRequests = new Map<string, readonly FailedRequest[]>();
  readonly inFlight = new Map<string, IntentRecord>();
  /** Calls that moved the run or that wait. Such a call gets no second outcome. */
  readonly #moved = new Set<string>();

  /** @param earlier The calls before the line was restored. @param before The calls of the branching line. */
  constructor(
    readonly earlier?: EarlierCalls,
    readonly before?: LineCalls,
  ) {}

  /** Returns the result of a call that this process made on the line, also before a branch started. */
  resultOf(call: string): Promise<unknown> | undefined {
    return this.performed.get(call) ?? this.before?.resultOf(call);
  }

  isKnown(call: string): boolean {
    return this.#hasResult(call) || this.earlier?.calls.has(call) === true;
  }

  /** Returns whether a message that is executed again gets the first outcome of this call. */
  isMade(call: string): boolean {
    return this.#hasResult(call) || this.earlier?.outcomeOf(call) !== undefined;
  }

  #hasResult(call: string): boolean {
    return this.resultOf(call) !== undefined || this.isForgotten(call);
  }

  isForgotten(call: string): boolean {
    return this.#forgotten.has(call) || this.before?.isForgotten(call) === true;
  }

  /** Frees the results of calls that are not in the history. Does this each time that the calls have doubled. */
  forget(history: Pick<MessageHistory, "messages">): void {
    if (this.performed.size < this.#forgetAbove) return;
    const kept = new Set(
      history.messages.flatMap((message) => (message.role === "assistant" ? callIdsIn(message) : [])),
    );
    for (const call of this.performed.keys()) {
      if (kept.has(call) || this.inFlight.has(call)) continue;
      this.performed.delete(call);
      this.#forgotten.add(call);
    }
    this.#forgetAbove = 2 * this.performed.size + 100;
  }

  hasMoved(call: string): boolean {
    return this.#moved.has(call);
  }

  /** Records that a tool call requested the move that ends this lane. The call has no output and is not in doubt. */
  move(call: string): readonly OutcomeRecord[] {
    const facts = this.inFlight.get(call);
    if (!facts) return [];
    this.#moved.add(call);
    return [{ ...facts, kind: "outcome", moved: true }];
  }

  /**
   * Suspends the waiting calls and the calls around them, so that they are not in doubt. Calls that exceeded their time
   * limit are not suspended.
   */
  suspend(waiting: readonly string[]): readonly OutcomeRecord[] {
    const ids = new Set(waiting);
    for (const id of ids) {
      const within = this.inFlight.get(id)?.within;
      if (within !== undefined) ids.add(within);
    }
    const calls = [...this.inFlight.values()].filter(({ call }) => ids.has(call));
    for (const { call } of calls) this.#moved.add(call);
    return calls
      .filter(({ effect }) => effect !== "none")
      .map(({ lane, visit, call }) => ({ kind: "outcome", lane, visit, call, suspended: true }));
  }
}
