import type { AssistantMessage } from "../../checkpoint/messages/Message.ts";
import { isToolCallIdOf, requestIdAt, type RunLine, toolCallIdAt } from "../../checkpoint/toolCallId.ts";
import type { AgentContext } from "../context/AgentContext.ts";
import { withToolCallIds } from "../tool/withToolCallIds.ts";
import type { NodeExecution } from "./NodeExecution.ts";

/** The letters are digested into stored ids, so they never change. */
const letters = { model: "m", call: "c", execute: "x" } as const;

/** A model request, a call from node code, or the execution of a message. */
type CallKind = keyof typeof letters;

/** The tool call that a context was made for. */
export interface ScopeCall {
  readonly toolCallId: string;
  /** The calls that it is made in, innermost first. */
  readonly around: readonly string[];
  /** The ids that the call may have had where the visit began on other lines. */
  readonly earlierIds: readonly string[];
  readonly signal: AbortSignal;
}

/**
 * What one context starts: in a visit, or in a tool call within it. It numbers requests and calls when they are made, so
 * that code that runs again gets the same ids, however its calls overlap.
 */
export class CallScope {
  readonly #ordinals = { model: 0, call: 0, execute: 0 };
  /** How often each question was asked without an id. */
  readonly #questions = new Map<string, number>();
  /** Numbers of model requests that failed: the next request takes the lowest. */
  readonly #vacated: number[] = [];
  readonly #earlierIds = new Map<string, readonly string[]>();

  /** @param call absent: the context is the node's own. */
  constructor(
    readonly visit: NodeExecution,
    readonly context: AgentContext,
    readonly call?: ScopeCall,
  ) {}

  get signal(): AbortSignal {
    return this.call?.signal ?? this.visit.signal;
  }

  /** The number of the next model request or call of a kind, from 0. */
  nextOrdinal(kind: CallKind): number {
    const vacated = kind === "model" ? this.#vacated.shift() : undefined;
    return vacated ?? this.#ordinals[kind]++;
  }

  /** The number of a request for input among those that ask the same, from 0. */
  nextOrdinalOf(question: string): number {
    const ordinal = this.#questions.get(question) ?? 0;
    this.#questions.set(question, ordinal + 1);
    return ordinal;
  }

  /** A model request has failed. It takes no place: the numbers count answers, so that a repetition finds them again. */
  vacate(ordinal: number): void {
    this.#vacated.push(ordinal);
    this.#vacated.sort((a, b) => a - b);
  }

  /** Starts work of this context in its visit. */
  async start<Result>(id: string | undefined, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    this.call?.signal.throwIfAborted();
    return this.visit.start(id, this.call?.toolCallId, work);
  }

  /** The id of a tool call that this context makes. */
  idAt(kind: CallKind, ordinal: number, index: number): string {
    const { at, line, run } = this.visit;
    const idOn = (on: RunLine, base: number, within: string | undefined): string => {
      const place = [base, at.ordinal, letters[kind], ordinal, index, ...(within === undefined ? [] : [within])];
      return toolCallIdAt(on, JSON.stringify(place), run.sha256);
    };
    const own = idOn(line, at.base, this.call?.toolCallId);
    const { isRecordedCall, recordedOn, visitBase } = run.position;
    if (!recordedOn || at.base !== visitBase) return own;
    // The visit may have begun on another line before, and made the call there.
    const around = this.call ? [this.call.toolCallId, ...this.call.earlierIds] : [undefined];
    const earlier = recordedOn.flatMap((on) => around.map((within) => idOn(on.line, on.visitBase, within)));
    const recorded = earlier.find((id) => isRecordedCall?.(id));
    if (recorded === undefined) this.#earlierIds.set(own, earlier);
    return recorded ?? own;
  }

  /** The calls that a call of this context is made in, innermost first. */
  get callsAround(): readonly string[] {
    return this.call ? [this.call.toolCallId, ...this.call.around] : [];
  }

  /** The ids that a tool call of this context may have had where the visit began on other lines. */
  earlierIdsOf(toolCallId: string): readonly string[] {
    return this.#earlierIds.get(toolCallId) ?? [];
  }

  /**
   * The id of a request that this context makes: from its question, and the id that it was given, which is unique in the
   * visit, or its number.
   */
  requestIdAt(place: { readonly question: string } & ({ readonly id: string } | { readonly ordinal: number })): string {
    const { at, line, run } = this.visit;
    const within = "id" in place ? [] : [this.call?.toolCallId ?? ""];
    return requestIdAt(line, JSON.stringify([at.base, at.ordinal, place, ...within]), run.sha256);
  }

  /** Replaces the ids of tool calls in a message, except those that `keeps` accepts. */
  withIds(
    message: AssistantMessage,
    kind: CallKind,
    ordinal: number,
    keeps: (id: string) => boolean = (id) => this.#isIssued(id),
  ): AssistantMessage {
    return withToolCallIds(message, (index) => this.idAt(kind, ordinal, index), keeps);
  }

  /** Whether an id was issued on the line of this visit, or belongs to a call that this line has recorded. */
  #isIssued(toolCallId: string): boolean {
    const { line, run } = this.visit;
    const { isRecordedCall, isRefusedCall } = run.position;
    const isOfBefore = isRecordedCall?.(toolCallId) === true || isRefusedCall?.(toolCallId) === true;
    return isOfBefore || isToolCallIdOf(line, toolCallId, run.sha256);
  }
}
