import { Readable } from "node:stream";
import { ReadableStream } from "node:stream/web";
import { RunItemStreamEvent, type RunStreamEvent, StreamedRunResult } from "@openai/agents-core";
import { EventQueue } from "../wrapped/EventQueue.ts";
import { withOriginalAgent } from "../wrapped/originals.ts";
import type { AnyStream, AnyState } from "../wrapped/AnyAgent.ts";

/**
 * Joins the streams of a loop into one, because the SDK creates a new stream after each approval. The loop does not
 * depend on a reader.
 */
export class JoinedStream {
  readonly #events = new EventQueue<RunStreamEvent>();
  #current: AnyStream | undefined;
  #tellBegun: () => void = () => {};
  #completed: Promise<void> = Promise.resolve();
  #error: unknown;

  async add(stream: AnyStream): Promise<void> {
    this.#current = stream;
    this.#tellBegun();
    for await (const event of stream) this.#events.push(shown(event));
    await stream.completed;
  }

  /**
   * Resolves with the joined stream once the first stream exists.
   *
   * @param done settles after the last stream. Its state is used if the streams did not finish.
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
    if (state && !this.#current?.interruptions.length) this.#current = new StreamedRunResult({ state });
    this.#events.end();
  }

  #fail(error: unknown): never {
    this.#error = error;
    this.#events.fail(error);
    throw error;
  }

  get #shown(): AnyStream {
    if (!this.#current) throw new TypeError("the stream has not begun");
    return this.#current;
  }

  #member(key: string | symbol): unknown {
    switch (key) {
      case Symbol.asyncIterator:
        return () => this.#events[Symbol.asyncIterator]();
      case "completed":
        return this.#completed;
      case "error":
        return this.#error;
      case "toStream":
        return () => ReadableStream.from(this.#events);
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

  async *#texts(): AsyncGenerator<string> {
    for await (const event of this.#events) {
      if (event.type === "raw_model_stream_event" && event.data.type === "output_text_delta") yield event.data.delta;
    }
  }
}

/** Returns an event with the user's agents. The loop keeps the durable ones. */
function shown(event: RunStreamEvent): RunStreamEvent {
  if (event.type === "agent_updated_stream_event") return withOriginalAgent(event);
  if (event.type !== "run_item_stream_event") return event;
  const item = withOriginalAgent(event.item);
  return item === event.item ? event : new RunItemStreamEvent(event.name, item);
}
