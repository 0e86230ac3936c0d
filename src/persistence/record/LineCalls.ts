import type { FailedRequest, IntentRecord, OutcomeRecord } from "../../checkpoint/records/callRecords.ts";

/** The tool calls and model requests of a line in this process. */
export class LineCalls {
  /** The results of the calls that this process made on the lane. */
  readonly performed = new Map<string, Promise<unknown>>();
  /** Model requests of this process that failed, by their place; an answer at that place is recorded with them. */
  readonly failedRequests = new Map<string, readonly FailedRequest[]>();
  /** Calls that have begun and not ended. */
  readonly inFlight = new Map<string, IntentRecord>();
  /** Calls that moved the run, or that wait: they get no other outcome. */
  readonly #moved = new Set<string>();

  hasMoved(call: string): boolean {
    return this.#moved.has(call);
  }

  /** A tool call asked for the move that ends the line here: it has no outcome, and is not in doubt. */
  move(call: string): readonly OutcomeRecord[] {
    const facts = this.inFlight.get(call);
    if (!facts) return [];
    this.#moved.add(call);
    return [{ ...facts, kind: "outcome", moved: true }];
  }

  /** The line waits, and so do the calls that have not ended: none of them is in doubt. */
  suspend(): readonly OutcomeRecord[] {
    const calls = [...this.inFlight.values()];
    for (const { call } of calls) this.#moved.add(call);
    return calls
      .filter(({ effect }) => effect !== "none")
      .map(({ lane, visit, call }) => ({ kind: "outcome", lane, visit, call, suspended: true }));
  }
}
