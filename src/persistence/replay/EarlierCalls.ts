import type { AssistantMessage } from "../../checkpoint/messages/Message.ts";
import { mayBeToolCallId } from "../../checkpoint/ids/toolCallId.ts";
import { isOver, type OutcomeRecord } from "../../checkpoint/records/callRecords.ts";
import { isSinceVisit, type Visit } from "../../checkpoint/records/Visit.ts";
import {
  type AgentState,
  nextVisitOf,
  type ProjectionBase,
  type RecordedCall,
} from "../../checkpoint/state/AgentState.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import type { Journal } from "../../journal/Journal.ts";
import { type CallEnd, callIdsIn, countedCalls } from "./countedCalls.ts";
import type { KnownCalls } from "./findCalls.ts";

/**
 * The calls that a line made before its next visit. If a message is executed again in a later visit, its calls return
 * their first outcomes. A restored state can lack old calls. They are read when such a message is executed.
 */
export class EarlierCalls implements KnownCalls {
  readonly calls: Map<string, RecordedCall>;
  /** Ids of calls that need no further search of the log: if one has no known record, the call was not made before. */
  readonly requested = new Set<string>();
  readonly answers: AgentState["answers"];
  readonly base: ProjectionBase | undefined;
  readonly #next: Visit;
  /** Resolves when the whole log was read. */
  reading: Promise<void> | undefined;

  constructor(
    readonly journal: Journal,
    index: LogProjection,
    state: AgentState,
    readonly lane: number,
  ) {
    this.calls = countedCalls(index, state);
    this.answers = state.answers;
    this.base = index.base;
    this.#next = nextVisitOf(state);
  }

  /** Adds a response that this process received. */
  addAnswer(message: AssistantMessage): void {
    for (const call of callIdsIn(message)) this.requested.add(call);
  }

  /** Reads the calls of a message, if they can be missing in the restored state. */
  find(message: AssistantMessage): Promise<void> | undefined {
    if (!this.base || this.reading) return this.reading;
    const unknown = callIdsIn(message)
      .filter(mayBeToolCallId)
      .filter((call) => !this.calls.has(call) && !this.requested.has(call));
    if (unknown.length === 0) return undefined;
    return import("./findCalls.ts").then(({ findCalls }) => findCalls(this, new Set(unknown)));
  }

  /** Returns the outcome of a call that an earlier visit made. `undefined` if the call is to be made. */
  endOf(call: string): Promise<CallEnd> | undefined {
    const outcome = this.outcomeOf(call);
    return outcome && import("./findCalls.ts").then(({ readEnd }) => readEnd(this.journal, outcome));
  }

  outcomeOf(call: string): OutcomeRecord | undefined {
    const { outcome, visit = this.#next } = this.calls.get(call) ?? {};
    return !isSinceVisit(visit, this.#next) && isOver(outcome) ? outcome : undefined;
  }
}
