import type { ProviderMessage, ProviderPart } from "./model/ProviderModel.ts";

/** What the AI SDK returns for a stream, as far as it matters here. */
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

/** The options of `toUIMessageStream` that matter here. */
interface UiOptions {
  readonly generateMessageId?: (() => string) | undefined;
}

/** Promises of the whole, which the last pass has. */
const ofLast: ReadonlySet<PropertyKey> = new Set(["steps", "finishReason", "rawFinishReason", "totalUsage"]);
const streams: ReadonlySet<PropertyKey> = new Set(["fullStream", "stream"]);
/** Streams of what one pass makes of its text. */
const ofFirst: ReadonlySet<PropertyKey> = new Set([
  "partialOutputStream",
  "experimental_partialOutputStream",
  "elementStream",
]);

/** The passes of a run as one stream of the AI SDK: from the first that is shown to the last. */
export class StreamLegs {
  readonly #legs: StreamResult[] = [];
  #isComplete = false;
  #changed: () => void = () => undefined;
  #change: Promise<void> = new Promise((resolve) => (this.#changed = resolve));
  readonly #messageId: string;
  #result: StreamResult | undefined;

  /** @param messageId of the message in a UI, unless another is asked for. */
  constructor(messageId: string) {
    this.#messageId = messageId;
  }

  /** Adds a pass. Returns the whole, which is the same for all passes. */
  add(leg: StreamResult): StreamResult {
    this.#legs.push(leg);
    this.#wake();
    return (this.#result ??= this.#whole(leg));
  }

  /** No further pass comes. */
  complete(): void {
    this.#isComplete = true;
    this.#wake();
  }

  /** The whole, once a pass has begun. */
  get result(): StreamResult | undefined {
    return this.#result;
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  #wake(): void {
    const wake = this.#changed;
    this.#change = new Promise((resolve) => (this.#changed = resolve));
    wake();
  }

  /** A pass by its number; `undefined`: it does not come. */
  async #leg(index: number): Promise<StreamResult | undefined> {
    while (index >= this.#legs.length && !this.#isComplete) await this.#change;
    return this.#legs[index];
  }

  async #last(): Promise<StreamResult | undefined> {
    while (!this.#isComplete) await this.#change;
    return this.#legs.at(-1);
  }

  #whole(first: StreamResult): StreamResult {
    const ofWhole = async (key: PropertyKey): Promise<unknown> => {
      const last = await this.#last();
      return last && (Reflect.get(last, key, last) as unknown);
    };
    const toUIMessageStream = (options: UiOptions = {}) => {
      const { generateMessageId = () => this.#messageId } = options;
      return first.toUIMessageStream.call(whole, { ...options, generateMessageId });
    };
    const whole: StreamResult = new Proxy(first, {
      get: (target, key): unknown => {
        if (streams.has(key) && key in target) return streamOf(this.#parts());
        if (key === "textStream") return streamOf(textOf(this.#parts()));
        if (ofFirst.has(key) && key in target) return streamOf(this.#endingAtTheEnd(Reflect.get(target, key, whole)));
        if (ofLast.has(key) && key in target) return ofWhole(key);
        return key === "toUIMessageStream" ? toUIMessageStream : Reflect.get(target, key, whole);
      },
    });
    return whole;
  }

  /** A stream of a pass. It fails once the run is over: who tries again finds the agent free. */
  async *#failingAtTheEnd<Part>(stream: unknown): AsyncGenerator<Part> {
    try {
      yield* stream as AsyncIterable<Part>;
    } catch (error) {
      await this.#last();
      throw error;
    }
  }

  /** A stream of a pass that ends once the run is over. */
  async *#endingAtTheEnd(stream: unknown): AsyncGenerator<unknown> {
    yield* this.#failingAtTheEnd(stream);
    await this.#last();
  }

  /** The parts of all passes. The end of one and the beginning of the next are no part of the whole. */
  async *#parts(): AsyncGenerator<ProviderPart> {
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

/** The text in the parts of a stream, piece by piece. */
async function* textOf(parts: AsyncIterable<ProviderPart>): AsyncGenerator<unknown> {
  for await (const part of parts) if (part.type === "text-delta") yield part["text"];
}

function streamOf<Part>(parts: AsyncIterable<Part>): ReadableStream<Part> {
  return (ReadableStream as unknown as { from(source: typeof parts): ReadableStream<Part> }).from(parts);
}
