import {
  type AssistantMessage,
  type ContentPart,
  type Message,
  partsOfType,
} from "../../checkpoint/messages/Message.ts";
import { isToolCallIdOf, requestIdAt, type RunLine, toolCallIdAt } from "../../checkpoint/ids/toolCallId.ts";
import type { AgentContext } from "../context/AgentContext.ts";
import type { CallChanges, NewChanges } from "../state/CallChanges.ts";
import type { RunState } from "../state/RunState.ts";
import type { NodeExecution } from "./NodeExecution.ts";
import type { MessageHistory } from "../../checkpoint/messages/MessageHistory.ts";
import { ToolFailedError } from "../../errors/toolCallErrors.ts";
import { frozenCopy } from "../../internal/frozenCopy.ts";

/** These letters are hashed into stored ids, so they must never change. */
const letters = { model: "m", call: "c", execute: "x" } as const;

type CallKind = keyof typeof letters;

export interface ScopeCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly around: readonly string[];
  /** The ids that this call can have in the log if its node already ran before a move. */
  readonly earlierIds: readonly string[];
  readonly signal: AbortSignal;
}

const lateChange = "it changed the run after the call. Await all work in the tool";

/** Numbers the requests and calls of a node or tool call in start order, so that repeated code gets the same ids. */
export class CallScope {
  readonly #ordinals = { model: 0, call: 0, execute: 0 };
  readonly #questions = new Map<string, number>();
  /** The free numbers of failed model requests. The next request gets the lowest free number. */
  readonly #vacated: number[] = [];
  readonly #earlierIds = new Map<string, readonly string[]>();

  constructor(
    readonly visit: NodeExecution,
    readonly context: AgentContext,
    readonly call?: ScopeCall,
  ) {}

  get signal(): AbortSignal {
    return this.call?.signal ?? this.visit.signal;
  }

  nextOrdinal(kind: CallKind): number {
    const vacated = kind === "model" ? this.#vacated.shift() : undefined;
    return vacated ?? this.#ordinals[kind]++;
  }

  /** Returns the number of earlier requests for input with this question. */
  nextOrdinalOf(question: string): number {
    const ordinal = this.#questions.get(question) ?? 0;
    this.#questions.set(question, ordinal + 1);
    return ordinal;
  }

  /** Frees the number of a failed request, because a repeated node finds its responses by number. */
  vacate(ordinal: number): void {
    this.#vacated.push(ordinal);
    this.#vacated.sort((a, b) => a - b);
  }

  async start<Result>(id: string | undefined, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    this.call?.signal.throwIfAborted();
    return this.visit.start(id, this.call?.toolCallId, work);
  }

  idAt(kind: CallKind, ordinal: number, index: number): string {
    const { at, line, run } = this.visit;
    const idOn = (on: RunLine, base: number, within: string | undefined): string => {
      const place = [base, at.ordinal, letters[kind], ordinal, index, ...(within === undefined ? [] : [within])];
      return toolCallIdAt(on, JSON.stringify(place), run.sha256);
    };
    const own = idOn(line, at.base, this.call?.toolCallId);
    const { isRecordedCall, recordedOn, visitBase } = run.position;
    if (!recordedOn || at.base !== visitBase) return own;
    // If the node already ran before a move, its call can be recorded under an id of another lane.
    const around = this.call ? [this.call.toolCallId, ...this.call.earlierIds] : [undefined];
    const earlier = recordedOn.flatMap((on) => around.map((within) => idOn(on.line, on.visitBase, within)));
    const recorded = earlier.find((id) => isRecordedCall?.(id));
    if (recorded === undefined) this.#earlierIds.set(own, earlier);
    return recorded ?? own;
  }

  /** Makes changes of the run's state. @throws the reason why the code of this scope must not make changes any more */
  change(make: (state: RunState) => void, changes: NewChanges): void {
    const notes = this.#notes();
    make(this.visit.state);
    notes?.note(this.callsAround, changes);
  }

  /** Makes a change of the history. @throws like {@link change} */
  changeHistory(make: (history: MessageHistory) => void): void {
    const notes = this.#notes();
    const { history } = this.visit.state;
    if (notes) notes.noteHistory(this.callsAround, () => make(history));
    else make(history);
  }

  /** A change by the node counts only after a change by a call. A change after the end of its call has no record. */
  #notes(): CallChanges | undefined {
    const { visit, call } = this;
    visit.assertOpen();
    if (!call) return visit.changes;
    if (!this.callsAround.some((each) => visit.pending.isOver(each))) return visit.changesByCalls();
    call.signal.throwIfAborted();
    throw new ToolFailedError(call.toolName, call.toolCallId, lateChange);
  }

  get callsAround(): readonly string[] {
    return this.call ? [this.call.toolCallId, ...this.call.around] : [];
  }

  /** Returns the ids that a call of this node can have in the log if the node already ran before a move. */
  earlierIdsOf(toolCallId: string): readonly string[] {
    return this.#earlierIds.get(toolCallId) ?? [];
  }

  /** Returns the id of a request, derived from the question and from the given id or the number of the request. */
  requestIdAt(place: { readonly question: string } & ({ readonly id: string } | { readonly ordinal: number })): string {
    const { at, line, run } = this.visit;
    const within = "id" in place ? [] : [this.call?.toolCallId ?? ""];
    return requestIdAt(line, JSON.stringify([at.base, at.ordinal, place, ...within]), run.sha256);
  }

  withIds(
    message: AssistantMessage,
    kind: CallKind,
    ordinal: number,
    keeps: (id: string) => boolean = (id) => this.#isIssued(id),
  ): AssistantMessage {
    return withToolCallIds(message, (index) => this.idAt(kind, ordinal, index), keeps);
  }

  /** Returns whether an id was made for the current lane, or belongs to a call recorded in its history. */
  #isIssued(toolCallId: string): boolean {
    const { line, run } = this.visit;
    const { isRecordedCall, isRefusedCall } = run.position;
    const isOfBefore = isRecordedCall?.(toolCallId) === true || isRefusedCall?.(toolCallId) === true;
    return isOfBefore || isToolCallIdOf(line, toolCallId, run.sha256);
  }
}

/** Returns a frozen copy of a message with new tool-call ids. Of two equal ids, only the first is kept. */
function withToolCallIds(
  message: AssistantMessage,
  idAt: (index: number) => string,
  keeps: (id: string) => boolean,
): AssistantMessage {
  if (typeof message.content === "string") return frozenCopy(message);
  const seen = new Set<string>();
  let changed = false;
  const content = message.content.map((part, index): ContentPart => {
    if (part.type !== "tool-call") return part;
    const kept = !seen.has(part.toolCallId) && keeps(part.toolCallId);
    seen.add(part.toolCallId);
    if (kept) return part;
    changed = true;
    return { ...part, toolCallId: idAt(index), providerToolCallId: part.providerToolCallId ?? part.toolCallId };
  });
  return frozenCopy(changed ? { ...message, content } : message);
}

/** Replaces the last `message` in the history by `issued`, the same message with new ids. */
export function replaceToolCallIds(history: MessageHistory, message: AssistantMessage, issued: AssistantMessage): void {
  const ids = callIdsOf(message);
  if (ids === callIdsOf(issued)) return;
  const shown = history.messages.findLastIndex((other) => other === message || callIdsOf(other) === ids);
  if (shown >= 0) history.reissue(shown, issued);
}

function callIdsOf(message: Message): string | undefined {
  const ids = partsOfType(message, "tool-call").map(({ toolCallId }) => toolCallId);
  return ids.length === 0 ? undefined : JSON.stringify(ids);
}
