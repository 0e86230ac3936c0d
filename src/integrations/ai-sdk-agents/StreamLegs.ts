import { abortable } from "../../internal/abortable.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import type { ProviderMessage, ProviderPart } from "../ai-sdk/AiSdkLanguageModel.ts";
import { streamOf } from "./model/DurableModel.ts";

export interface StreamResult {
  readonly fullStream: ReadableStream<ProviderPart>;
  readonly steps: PromiseLike<readonly unknown[]>;
  readonly finishReason: PromiseLike<unknown>;
  readonly rawFinishReason?: PromiseLike<unknown>;
  readonly totalUsage: PromiseLike<unknown>;
  readonly response: PromiseLike<{ readonly messages: readonly ProviderMessage[] }>;
  readonly responseMessages?: PromiseLike<readonly ProviderMessage[]>;
  consumeStream(options?: { readonly onError?: (error: unknown) => void }): PromiseLike<void>;
  toUIMessageStream(options?: UiOptions): ReadableStream<ProviderPart>;
}

interface UiOptions {
  readonly generateMessageId?: (() => string) | undefined;
  readonly onError?: ((error: unknown) => string) | undefined;
}

/** Promises of the joined stream that resolve to the values of the last pass. */
const ofLast: ReadonlySet<PropertyKey> = new Set([
  "steps",
  "finishReason",
  "rawFinishReason",
  "totalUsage",
  "responseMessages",
]);
const streams: ReadonlySet<PropertyKey> = new Set(["fullStream", "stream"]);
/** Streams that are taken only from the first pass. */
const ofFirst: ReadonlySet<PropertyKey> = new Set([
  "partialOutputStream",
  "experimental_partialOutputStream",
  "elementStream",
]);

/**
 * Joins the streams of a run into one stream of the AI SDK. The AI SDK returns a new stream for each pass of its loop,
 * which is called a leg here: at the start, and after each wait for approvals.
 */
export class StreamLegs {
  readonly #legs: StreamResult[] = [];
  #isComplete = false;
  #changed: () => void = () => undefined;
  #change: Promise<void> = new Promise((resolve) => (this.#changed = resolve));
  readonly #messageId: string;
  #result: StreamResult | undefined;

  /** @param messageId - the default id of the UI message. */
  constructor(messageId: string) {
    this.#messageId = messageId;
  }

  /** Adds the stream of a pass. Returns the joined stream, which is always the same. */
  add(leg: StreamResult): StreamResult {
    this.#legs.push(leg);
    this.#wake();
    return (this.#result ??= this.#whole(leg));
  }

  complete(): void {
    this.#isComplete = true;
    this.#wake();
  }

  get result(): StreamResult | undefined {
    return this.#result;
  }

  /** Returns the joined stream for a client that leaves when the signal aborts. The run continues. */
  until(signal: AbortSignal): StreamResult | undefined {
    const [first] = this.#legs;
    return first && this.#whole(first, signal);
  }

  #wake(): void {
    const wake = this.#changed;
    this.#change = new Promise((resolve) => (this.#changed = resolve));
    wake();
  }

  /** Returns the stream of a pass by its number. `undefined` if the run ends before this pass. */
  async #leg(index: number): Promise<StreamResult | undefined> {
    while (index >= this.#legs.length && !this.#isComplete) await this.#change;
    return this.#legs[index];
  }

  async #last(): Promise<StreamResult | undefined> {
    while (!this.#isComplete) await this.#change;
    return this.#legs.at(-1);
  }

  #whole(first: StreamResult, signal?: AbortSignal): StreamResult {
    const ofWhole = async (key: PropertyKey): Promise<unknown> => {
      const last = await this.#last();
      return last && (Reflect.get(last, key, last) as unknown);
    };
    const toUIMessageStream = (options: UiOptions = {}) => {
      const { generateMessageId = () => this.#messageId, onError = () => "An error occurred." } = options;
      const stream = first.toUIMessageStream.call(whole, { ...options, generateMessageId });
      return streamOf(endingWithError(stream, onError));
    };
    const whole: StreamResult = new Proxy(first, {
      get: (target, key): unknown => {
        if (streams.has(key) && key in target) return streamOf(this.#parts(signal));
        if (key === "textStream") return streamOf(textOf(this.#parts(signal)));
        if (ofFirst.has(key) && key in target)
          return streamOf(untilAborted(this.#endingAtTheEnd(Reflect.get(target, key, whole)), signal));
        if (ofLast.has(key) && key in target) return ofWhole(key);
        return key === "toUIMessageStream" ? toUIMessageStream : Reflect.get(target, key, whole);
      },
    });
    return whole;
  }

  /** Forwards a stream. Delays an error of the stream until the run has ended, so that a retry finds the agent free. */
  async *#failingAtTheEnd<Part>(stream: unknown): AsyncGenerator<Part> {
    try {
      yield* stream as AsyncIterable<Part>;
    } catch (error) {
      await this.#last();
      throw error;
    }
  }

  /** Forwards a stream, but ends only after the run. */
  async *#endingAtTheEnd(stream: unknown): AsyncGenerator<unknown> {
    yield* this.#failingAtTheEnd(stream);
    await this.#last();
  }

  /** Yields the parts of all passes, with one `start` and one `finish`. Ends with `abort` if the signal aborts. */
  async *#parts(signal?: AbortSignal): AsyncGenerator<ProviderPart> {
    const isAborted = yield* untilAborted(this.#allParts(), signal);
    if (isAborted) yield { type: "abort", reason: reasonOf(signal?.reason) };
  }

  async *#allParts(): AsyncGenerator<ProviderPart> {
    for (let index = 0; ; index++) {
      const leg = await this.#leg(index);
      if (!leg) return;
      let finish: ProviderPart | undefined;
      for await (const part of this.#failingAtTheEnd<ProviderPart>(leg.fullStream)) {
        if (part.type === "finish") finish = part;
        else if (index === 0 || part.type !== "start") yield part;
      }
      if (finish && !(await this.#leg(index + 1))) yield finish;
    }
  }
}

/** Yields items until the signal aborts. Returns whether the signal has aborted. */
async function* untilAborted<Item>(
  items: AsyncGenerator<Item>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Item, boolean> {
  try {
    for (;;) {
      const { done, value } = await (signal ? abortable(signal, () => items.next()) : items.next());
      if (done) return false;
      yield value;
    }
  } catch (error) {
    if (!signal?.aborted) throw error;
    return true;
  } finally {
    // Does not wait for the next item, which can arrive much later.
    items.return(undefined).catch(() => undefined);
  }
}

/** Ends a failed stream with an error part. Without that part, a client would treat the response as complete. */
async function* endingWithError(
  stream: ReadableStream<ProviderPart>,
  onError: (error: unknown) => string,
): AsyncGenerator<ProviderPart> {
  try {
    yield* stream as unknown as AsyncIterable<ProviderPart>;
  } catch (error) {
    yield { type: "error", errorText: onError(error) };
  }
}

async function* textOf(parts: AsyncIterable<ProviderPart>): AsyncGenerator<unknown> {
  for await (const part of parts) if (part.type === "text-delta") yield part["text"];
}
