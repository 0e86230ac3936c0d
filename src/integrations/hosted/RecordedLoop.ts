import { replayedOutput } from "../../agent/tool/recordedCall.ts";
import { unexplainedRejection } from "../../agent/tool/Tool.ts";
import type { AssistantMessage } from "../../checkpoint/messages/Message.ts";
import { isOver } from "../../checkpoint/records/callRecords.ts";
import { toolCallIdAt } from "../../checkpoint/ids/toolCallId.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { HostedPieces, type PieceSource } from "./HostedPieces.ts";
import { hostedResponse, ResponseCalls } from "./responseMessage.ts";
import type { ApprovableCall, GivenHostedResponse, HostedApproval, HostedCall, HostedLoop } from "./HostedLoop.ts";
import type { RunRecords } from "./RunRecords.ts";

/**
 * Receives the requests of a loop before they get their recorded results. If a method throws, the error ends the loop.
 */
export interface LoopObserver {
  requesting(ordinal: number): void;
  /** @param ids the possible ids of the call, newest first */
  calling(ids: readonly string[], call: { readonly toolName: string; readonly input: unknown }): void;
  approving(call: ApprovableCall, isRecorded: boolean): void;
}

/** Resolves when the run has new records. Rejects if the run stops without new records. */
type Follow = () => Promise<void>;

/**
 * A loop that only replays records, and can wait for new records. Requests inside a call are not replayed separately.
 */
export class RecordedLoop implements HostedLoop {
  readonly live = false;
  readonly signal: AbortSignal;
  readonly #records: RunRecords;
  readonly #sha256: Sha256;
  readonly #follow: Follow;
  readonly #streams: PieceSource | undefined;
  readonly #observer: LoopObserver | undefined;
  readonly #calls = new ResponseCalls();
  #answers = 0;
  #steps = 0;
  /** The possible ids of a call in the records, by its visible id. */
  readonly #ids = new Map<string, readonly string[]>();
  #failure: { readonly error: unknown } | undefined;

  /**
   * @param options.follow waits for further records. Omit it for a finished run.
   * @param options.streams holds the pieces of incomplete responses. Omit it to receive complete responses only.
   * @param options.observer compares the requests of the loop with its records
   */
  constructor(
    records: RunRecords,
    options: {
      readonly sha256: Sha256;
      readonly signal?: AbortSignal | undefined;
      readonly follow?: Follow;
      readonly streams?: PieceSource | undefined;
      readonly observer?: LoopObserver | undefined;
    },
  ) {
    this.#streams = options.follow && options.streams;
    this.#observer = options.observer;
    this.#records = records;
    this.#sha256 = options.sha256;
    this.signal = options.signal ?? new AbortController().signal;
    this.#follow = options.follow ?? (() => Promise.reject(this.#missing()));
  }

  get agentId(): string {
    return this.#records.agentId;
  }
  get runId(): string {
    return this.#records.runId;
  }
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure;
  }

  async answer(): Promise<GivenHostedResponse> {
    const ordinal = this.#answers++;
    this.#observe((observer) => observer.requesting(ordinal));
    const record = await this.#found(() => this.#records.answer(ordinal));
    const message = this.#records.readValue(record.message) as AssistantMessage;
    const shown = this.#withIds(message, ordinal);
    this.#calls.add(shown);
    return hostedResponse({ message: shown, usage: record.usage, finishReason: record.finish }, { replayed: true });
  }

  nextPieces(): HostedPieces | undefined {
    const { agentId, runId } = this;
    const ordinal = this.#answers;
    if (this.#records.answer(ordinal)) return undefined;
    return this.#streams && new HostedPieces(this.#streams, agentId, { runId, ordinal });
  }

  async call(toolCallId: string, call: HostedCall): Promise<unknown> {
    await this.#calls.of(toolCallId);
    return this.#outcome(this.#ids.get(toolCallId) ?? [toolCallId], call);
  }

  async step(call: HostedCall): Promise<unknown> {
    return this.#outcome(this.#idsAt("c", this.#steps++, 0), call);
  }

  async approvals(calls: readonly ApprovableCall[]): Promise<readonly HostedApproval[]> {
    return Promise.all(
      calls.map(async (call): Promise<HostedApproval> => {
        const ids = this.#ids.get(call.toolCallId) ?? [call.toolCallId];
        const reply = () => this.#records.request(...ids)?.reply;
        const isRecorded = reply() !== undefined;
        this.#observe((observer) => observer.approving(call, isRecorded));
        const record = await this.#found(reply);
        if (record.expired) return { approved: false, reason: "it was not approved in time" };
        if (record.rejected !== undefined) return { approved: false, reason: record.rejected };
        const { approved, reason = unexplainedRejection } = Object(this.#records.readValue(record.answer ?? null)) as {
          readonly approved?: unknown;
          readonly reason?: string;
        };
        return approved === true ? { approved } : { approved: false, reason };
      }),
    );
  }

  async durable(): Promise<void> {
    // Only the outcome is replayed.
  }

  async #outcome(ids: readonly string[], { tool: { tool }, input }: HostedCall): Promise<unknown> {
    this.#observe((observer) => observer.calling(ids, { toolName: tool.name, input }));
    const end = await this.#found(() => {
      const outcome = this.#records.outcome(ids);
      return isOver(outcome) ? outcome : undefined;
    });
    const output = end.output === undefined ? undefined : this.#records.readValue(end.output);
    return replayedOutput(tool.name, end.call, { ...end, output });
  }

  #observe(see: (observer: LoopObserver) => void): void {
    try {
      if (this.#observer) see(this.#observer);
    } catch (error) {
      this.#failure ??= { error };
      throw error;
    }
  }

  async #found<Found>(look: () => Found | undefined): Promise<Found> {
    try {
      for (;;) {
        const found = look();
        if (found) return found;
        await this.#follow();
      }
    } catch (error) {
      this.#failure ??= { error };
      throw error;
    }
  }

  /** Adjusts call ids, because a call that was repeated on a later line has another id than in the response. */
  #withIds(message: AssistantMessage, ordinal: number): AssistantMessage {
    if (typeof message.content === "string") return message;
    const content = message.content.map((part, index) => {
      if (part.type !== "tool-call") return part;
      const ids = [...this.#idsAt("m", ordinal, index), part.toolCallId];
      const toolCallId = this.#records.outcome(ids)?.call ?? part.toolCallId;
      this.#ids.set(toolCallId, ids);
      return { ...part, toolCallId };
    });
    return { ...message, content };
  }

  /** Returns the ids of a call on the lines of the run, newest first. */
  #idsAt(kind: "m" | "c", ordinal: number, index: number): readonly string[] {
    const { visit = [0, 0], lines } = this.#records;
    const place = JSON.stringify([...visit, kind, ordinal, index]);
    return lines.map((line) => toolCallIdAt(line, place, this.#sha256));
  }

  #missing(): UnreadableValueError {
    return new UnreadableValueError(
      `run ${this.runId} of agent "${this.agentId}" lacks a record that its loop needs, possibly because the record was pruned`,
    );
  }
}
