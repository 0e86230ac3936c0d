import { isToolCallIdOf, requestIdAt, toolCallIdAt } from "../../checkpoint/toolCallId.ts";
import type { NodeExecution } from "./NodeExecution.ts";

/** What is asked for: a model's answer, a call from node code, or the execution of a message from elsewhere. */
type PlaceKind = "m" | "c" | "x";

/**
 * Where a context stands: in a visit, or in a tool call within it. It numbers what is asked for there, at once and in
 * order, so that the same code gets the same ids when it runs again, however its calls overlap.
 */
export class CallScope {
  readonly visit: NodeExecution;
  /** The tool call the context was made for, with its signal. Absent: the node's own context. */
  readonly call: ScopeCall | undefined;
  readonly #ordinals: Record<PlaceKind | "r", number> = { m: 0, c: 0, x: 0, r: 0 };

  constructor(visit: NodeExecution, call?: ScopeCall) {
    this.visit = visit;
    this.call = call;
  }

  get signal(): AbortSignal {
    return this.call?.signal ?? this.visit.signal;
  }

  /** The number of the next thing asked for. */
  nextOrdinal(kind: PlaceKind | "r"): number {
    return this.#ordinals[kind]++;
  }

  /** The id of a tool call that was asked for here. */
  idAt(kind: PlaceKind, ordinal: number, index: number): string {
    const { at, line, run } = this.visit;
    const within = this.call ? [this.call.toolCallId] : [];
    return toolCallIdAt(line, JSON.stringify([at.base, at.ordinal, kind, ordinal, index, ...within]), run.sha256);
  }

  /** The id of a request that is made here: by the id that it was given in the visit, or by its ordinal. */
  requestIdAt(place: { readonly id: string } | { readonly ordinal: number }): string {
    const { at, line, run } = this.visit;
    const within = "id" in place ? [] : [this.call?.toolCallId ?? ""];
    return requestIdAt(line, JSON.stringify([at.base, at.ordinal, place, ...within]), run.sha256);
  }

  /** Whether an id was issued on the line of this visit, or belongs to a call that this line has recorded. */
  issued(toolCallId: string): boolean {
    const { line, run } = this.visit;
    return isToolCallIdOf(line, toolCallId, run.sha256) || run.position.isRecordedCall?.(toolCallId) === true;
  }
}

export interface ScopeCall {
  readonly toolCallId: string;
  readonly signal: AbortSignal;
}
