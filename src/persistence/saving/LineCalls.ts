import type { FailedRequest, IntentRecord, OutcomeRecord } from "../../checkpoint/records/callRecords.ts";
import { callIdsIn } from "../../checkpoint/messages/Message.ts";
import type { MessageHistory } from "../../checkpoint/messages/MessageHistory.ts";
import type { EarlierCalls } from "../replay/EarlierCalls.ts";

export class LineCalls {
  readonly performed = new Map<string, Promise<unknown>>();
  /** The ids of earlier calls whose results were freed and must be read from the log. */
  readonly #forgotten = new Set<string>();
  #forgetAbove = 100;
  /** The failed model requests, by node execution and number. They are recorded with the next response. */
  readonly failedRequests = new Map<string, readonly FailedRequest[]>();
  /** The calls without a recorded outcome. A move can end the tool of a call before the move is recorded. */
  readonly inFlight = new Map<string, IntentRecord>();
  /** The errors of node code's calls since the last call or model request started. Their calls are retried together. */
  readonly failures = new Set<unknown>();
  /** The calls that moved the run or that wait. They get no other outcome. */
  readonly moved = new Set<string>();

  /** @param earlier The calls before a restore. @param before The calls of the run before a branch started. */
  constructor(
    readonly earlier?: EarlierCalls,
    readonly before?: LineCalls,
  ) {}

  /** Returns the result of a call that this process made. A branch also finds calls from before its start. */
  resultOf(call: string): Promise<unknown> | undefined {
    return this.performed.get(call) ?? this.before?.resultOf(call);
  }

  isKnown(call: string): boolean {
    return this.#hasResult(call) || this.earlier?.calls.has(call) === true;
  }

  /** Returns whether a call has an outcome. If a message is executed again, its calls return their first outcomes. */
  isMade(call: string): boolean {
    return this.#hasResult(call) || this.earlier?.outcomeOf(call) !== undefined;
  }

  #hasResult(call: string): boolean {
    return this.resultOf(call) !== undefined || this.isForgotten(call);
  }

  isForgotten(call: string): boolean {
    return this.#forgotten.has(call) || this.before?.isForgotten(call) === true;
  }

  /** Frees the results of calls that are not in the history. Waits until the number of results has doubled. */
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

  /** Records that a tool call moves the run. The call has no output and is not in doubt. */
  move(call: string): readonly OutcomeRecord[] {
    const facts = this.inFlight.get(call);
    if (!facts) return [];
    this.moved.add(call);
    return [{ ...facts, kind: "outcome", moved: true }];
  }

  /** Records waiting calls, and the calls that contain them, as suspended. Omits calls that exceeded a time limit. */
  suspend(waiting: readonly string[]): readonly OutcomeRecord[] {
    const ids = new Set(waiting);
    for (const id of ids) {
      const within = this.inFlight.get(id)?.within;
      if (within !== undefined) ids.add(within);
    }
    const calls = [...this.inFlight.values()].filter(({ call }) => ids.has(call));
    for (const { call } of calls) this.moved.add(call);
    return calls
      .filter(({ effect }) => effect !== "none")
      .map(({ lane, visit, call }) => ({ kind: "outcome", lane, visit, call, suspended: true }));
  }
}
