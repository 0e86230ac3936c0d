import { RunItemStreamEvent, type RunStreamEvent, StreamedRunResult } from "@openai/agents-core";
import { Readable } from "node:stream";
import { ReadableStream } from "node:stream/web";
import { EventQueue } from "../../hosted/EventQueue.ts";
import type { AnyStream, AnyState } from "../wrapped/AnyAgent.ts";
import { withOriginalAgent } from "../wrapped/originals.ts";

interface EventCounts {
  responses: number;
  /** Events that are not from a model. */
  others: number;
}

/**
 * Joins the streams of a run into one, because the SDK creates a new stream after each wait for approvals. The run
 * continues even if the stream is not read. If a reader cancels or leaves, the stream of the SDK is cancelled.
 */
export class JoinedStream {
  readonly #events = new EventQueue<RunStreamEvent>(() => this.#cancel());
  /** The result of `toStream`, which is the same in each call, as in the SDK. */
  #stream: ReadableStream | undefined;
  #current: AnyStream | undefined;
  #tellBegun: () => void = () => {};
  #completed: Promise<void> = Promise.resolve();
  #error: unknown = null;
  #isCancelled = false;
  #cancelCurrent: () => Promise<void> = async () => {};

  readonly #signal: AbortSignal | undefined;
  #runId: string | undefined;
  #shownCounts: EventCounts = { responses: 0, others: 0 };
  #counts: EventCounts = { responses: 0, others: 0 };

  /** @param signal - ends the stream without an error, as in the SDK. */
  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  async add(stream: AnyStream): Promise<void> {
    this.#current = stream;
    const reader = (stream.toStream() as unknown as ReadableStream<RunStreamEvent>).getReader();
    this.#cancelCurrent = () => reader.cancel();
    if (this.#isCancelled) await reader.cancel();
    this.#tellBegun();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (this.#isNew(value)) this.#events.push(shown(value));
    }
    await stream.completed;
  }

  /** Call this before the loop runs from its start, so that earlier events of the same run are not sent again. */
  restart(runId: string): void {
    if (runId !== this.#runId) this.#shownCounts = { responses: 0, others: 0 };
    this.#runId = runId;
    this.#counts = { responses: 0, others: 0 };
  }

  #isNew(event: RunStreamEvent): boolean {
    const kind = event.type === "raw_model_stream_event" ? "responses" : "others";
    const isNew = this.#counts[kind] >= this.#shownCounts[kind];
    const isCounted = event.type !== "raw_model_stream_event" || event.data.type === "response_done";
    if (isCounted) this.#counts[kind]++;
    if (isCounted && isNew) this.#shownCounts[kind]++;
    return isNew;
  }

  #cancel(): void {
    this.#isCancelled = true;
    this.#cancelCurrent().catch(() => {});
  }

  /**
   * Resolves to the joined stream when the SDK has created its first stream.
   *
   * @param done settles after the last stream, with the state of a run that waits. A rejection with
   * {@link StreamCancelled} ends the stream without an error, as in the SDK.
   */
  async begun(done: Promise<AnyState | undefined>): Promise<AnyStream> {
    const begun = new Promise<void>((resolve) => (this.#tellBegun = resolve));
    this.#completed = done.then(
      (state) => this.#end(state),
      (error: unknown) => this.#fail(error),
    );
    this.#completed.catch(() => {});
    await Promise.race([begun, done]);
    return new Proxy(this.#shown, { get: (_shown, key) => this.#member(key) });
  }

  #end(state: AnyState | undefined): void {
    if (state && this.#current?.state !== state) this.#current = new StreamedRunResult({ state });
    this.#events.end();
  }

  #fail(error: unknown): void {
    const isAborted = this.#signal?.aborted && error === this.#signal.reason;
    if (isAborted || error instanceof StreamCancelled) return this.#events.end();
    this.#error = error;
    this.#events.fail(error);
    throw error;
  }

  get #shown(): AnyStream {
    if (!this.#current) throw new TypeError("the stream has not started");
    return this.#current;
  }

  #member(key: string | symbol): unknown {
    switch (key) {
      case Symbol.asyncIterator:
        return () => this.#events[Symbol.asyncIterator]();
      case "completed":
        return this.#completed;
      case "cancelled":
        return this.#isCancelled || this.#shown.cancelled;
      case "error":
        return this.#error;
      case "toStream":
        return () => (this.#stream ??= ReadableStream.from(this.#events));
      case "toTextStream":
        return (options?: { readonly compatibleWithNodeStreams?: boolean }) =>
          options?.compatibleWithNodeStreams ? Readable.from(this.#texts()) : ReadableStream.from(this.#texts());
      default: {
        const shown = this.#shown;
        const value: unknown = Reflect.get(shown, key);
        return typeof value === "function" ? value.bind(shown) : value;
      }
    }
  }

  /** Not a generator, because a generator would delay a cancellation until the next text. */
  #texts(): AsyncIterable<string> {
    const events = this.#events[Symbol.asyncIterator]();
    const next = async (): Promise<IteratorResult<string, undefined>> => {
      for (;;) {
        const { done, value } = await events.next();
        if (done) return { done, value };
        if (value.type === "raw_model_stream_event" && value.data.type === "output_text_delta")
          return { done: false, value: value.data.delta };
      }
    };
    const leave = async (): Promise<IteratorResult<string, undefined>> => {
      await events.return?.();
      return { done: true, value: undefined };
    };
    return { [Symbol.asyncIterator]: () => ({ next, return: leave }) };
  }
}

/** Returns an event in which the user's agents replace the durable agents. */
function shown(event: RunStreamEvent): RunStreamEvent {
  if (event.type === "agent_updated_stream_event") return withOriginalAgent(event);
  if (event.type !== "run_item_stream_event") return event;
  const item = withOriginalAgent(event.item);
  return item === event.item ? event : new RunItemStreamEvent(event.name, item);
}

/** Stops a run whose stream its reader cancelled. The run stays resumable. */
export class StreamCancelled extends Error {
  override readonly name = "AbortError";

  constructor() {
    super("The reader of the stream cancelled it. Call resume(agent, { agentId }) to continue the run.");
  }
}

/** Returns whether a stream was cancelled before the final output. */
export function isStopped({ cancelled, state, interruptions }: AnyStream): boolean {
  return cancelled && interruptions.length === 0 && state._currentStep?.type !== "next_step_final_output";
}
