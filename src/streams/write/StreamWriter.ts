import type { RunDelta } from "../../agent/feature/RunRequest.ts";
import { withinTime } from "../../internal/abortable.ts";
import type { Clock } from "../../internal/Clock.ts";
import {
  lastNumber,
  type StreamEntry,
  type StreamPlace,
  type StreamStore,
  localReaders,
} from "../store/StreamStore.ts";
import { parsedJson } from "../../internal/parsedJson.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import { warnOnce } from "../../internal/warn.ts";
import { StorageError } from "../../errors/storageErrors.ts";
import { z } from "zod";

/** When buffered chunks are appended. */
interface StreamBatching {
  /** How long a chunk may wait for further chunks, in milliseconds. */
  readonly delayMs: number;
  /** The number of chunks that are appended at once. */
  readonly chunks: number;
}

/** The maximum length of the texts in one append, in UTF-16 units. */
const mostText = 65_536;
/** The number of first appends of a response that do not wait for a full batch, so that clients soon see the start. */
const earlyAppends = 4;

interface OpenResponse {
  /** The number of the first chunk. */
  readonly first: number;
  text: number;
  reasoning: number;
}

/**
 * Appends the chunks of a run in batches. A response of n chunks takes at most n / `chunks` + 4 appends. The end of a
 * response is not appended, because clients read it from the log. The run never waits for an append. If the store
 * fails, the run does not fail.
 */
export class StreamWriter {
  readonly #calls: StreamCalls;
  readonly #clock: Clock;
  readonly #batching: StreamBatching;
  readonly #open = new Map<string, OpenResponse>();
  #next: StreamPlace;
  #buffer: string[] = [];
  #bufferedText = 0;
  #credit = 0;
  #isDue = false;
  #cancelTimer: (() => void) | undefined;
  /** The last entry that was sent to the store, which may have stored the entry. */
  #sent: StreamEntry | undefined;
  /** The chunks after {@link #sent}, which were not sent. */
  #unsent: { readonly writer: number; first: number; readonly chunks: string[] } | undefined;
  #work: Promise<void> | undefined;
  #isEnded = false;

  constructor(
    calls: StreamCalls,
    next: StreamPlace,
    { clock, ...batching }: StreamBatching & { readonly clock: Clock },
  ) {
    this.#calls = calls;
    this.#next = next;
    this.#clock = clock;
    this.#batching = batching;
  }

  /** The place of the next chunk. */
  get next(): StreamPlace {
    return this.#next;
  }

  /** Ignores a chunk that arrives after the end of the run. */
  add(delta: RunDelta): void {
    if (this.#isEnded) return;
    const { requestId } = delta;
    if (delta.type === "restart") {
      if (this.#open.delete(requestId)) this.#push(delta);
      return;
    }
    const open = this.#opened(requestId);
    const kind = delta.type === "text-delta" ? "text" : "reasoning";
    this.#push({ ...delta, at: open[kind] });
    open[kind] += delta.text.length;
  }

  /** Appends a `restart`, so that clients discard the chunks of a failed request. */
  discard(place: Omit<RunDelta, "type" | "text">): void {
    this.add({ ...place, type: "restart" } as RunDelta);
  }

  /** The requests whose chunks are not removed. */
  get openRequests(): readonly string[] {
    return [...this.#open.keys()];
  }

  /** Removes the chunks of responses that the log contains. */
  async remove(requestIds: readonly string[]): Promise<void> {
    for (const requestId of requestIds) this.#open.delete(requestId);
    const { writer, number } = this.#next;
    const first = Math.min(number, ...[...this.#open.values()].map((open) => open.first));
    if (first === number) this.#clear();
    this.#dropBefore(first);
    await this.#settle();
    await this.#calls.remove({ writer, number: first - 1 });
  }

  /** Ends the stream of a run that has ended or waits. A store that does not answer delays the end by one timeout. */
  async end(): Promise<void> {
    this.#isEnded = true;
    this.#clear();
    await this.#calls.inTime(this.remove(this.openRequests));
  }

  #opened(requestId: string): OpenResponse {
    const known = this.#open.get(requestId);
    if (known) return known;
    const opened = { first: this.#next.number, text: 0, reasoning: 0 };
    this.#open.set(requestId, opened);
    this.#credit += earlyAppends;
    return opened;
  }

  #push(chunk: StoredChunk): void {
    const text = JSON.stringify(chunk);
    this.#buffer.push(text);
    this.#bufferedText += text.length;
    this.#next = { ...this.#next, number: this.#next.number + 1 };
    this.#credit += 1 / this.#batching.chunks;
    this.#cancelTimer ??= this.#clock.after(this.#batching.delayMs, () => this.#due(), true);
    this.#flush();
  }

  #due(): void {
    this.#cancelTimer = undefined;
    this.#isDue = true;
    this.#flush();
  }

  #clear(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#buffer = [];
    this.#bufferedText = 0;
    this.#isDue = false;
    this.#credit = 0;
  }

  #flush(): void {
    const isFull = this.#buffer.length >= this.#batching.chunks || this.#isDue;
    if (this.#work || this.#buffer.length === 0) return;
    if (this.#bufferedText < mostText && !(isFull && this.#credit >= 1)) return;
    this.#credit = Math.max(0, this.#credit - 1);
    const { writer, number } = this.#next;
    const entry = { writer, first: number - this.#buffer.length, chunks: this.#buffer };
    this.#buffer = [];
    this.#bufferedText = 0;
    this.#isDue = false;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#work = this.#append(entry).finally(() => {
      this.#work = undefined;
      if (this.#buffer.length > 0) this.#flush();
    });
  }

  /** Appends an entry. First repeats the last append if it may have failed, because stores ignore known entries. */
  async #append(entry: StreamEntry): Promise<void> {
    if (this.#unsent) this.#unsent.chunks.push(...entry.chunks);
    else this.#unsent = { ...entry, chunks: [...entry.chunks] };
    for (;;) {
      if (!this.#sent) [this.#sent, this.#unsent] = [this.#unsent, undefined];
      if (!this.#sent || !(await this.#calls.append(this.#sent))) return;
      this.#sent = undefined;
    }
  }

  /** Drops the chunks before a number, which no reader needs. */
  #dropBefore(number: number): void {
    if (this.#sent && lastNumber(this.#sent) < number) this.#sent = undefined;
    if (!this.#unsent || this.#unsent.first >= number) return;
    this.#unsent.chunks.splice(0, number - this.#unsent.first);
    this.#unsent.first = number;
    if (this.#unsent.chunks.length === 0) this.#unsent = undefined;
  }

  async #settle(): Promise<void> {
    while (this.#work) await this.#work;
  }
}

interface FailedStreamCall {
  readonly operation: "append" | "remove";
  readonly error: unknown;
}

export interface StreamCallOptions {
  readonly clock: Clock;
  /** How long a call may take, in milliseconds. */
  readonly timeoutMs: number;
  /** Called for the first failure of an outage. */
  readonly onFailure: (failure: FailedStreamCall) => void;
}

/** Calls a store for one stream. Never throws. Resolves to `false` after a failure or a timeout. */
export class StreamCalls {
  readonly #store: StreamStore;
  readonly #streamId: string;
  readonly #options: StreamCallOptions;
  /** The operations whose last call failed. */
  readonly #failing = new Set<FailedStreamCall["operation"]>();

  constructor(store: StreamStore, streamId: string, options: StreamCallOptions) {
    this.#store = store;
    this.#streamId = streamId;
    this.#options = options;
  }

  append(entry: StreamEntry): Promise<boolean> {
    return this.#attempt("append", () => this.#store.append(this.#streamId, entry));
  }

  /** @param upTo defaults to the whole stream */
  remove(upTo?: StreamPlace): Promise<boolean> {
    return this.#attempt("remove", () => this.#store.remove(this.#streamId, upTo));
  }

  /** Resolves when the work is done, and at the latest after the timeout. */
  async inTime(work: Promise<unknown>): Promise<void> {
    await this.#withinTime("end", () => work).catch(() => undefined);
  }

  async #attempt(operation: FailedStreamCall["operation"], call: () => Promise<void>): Promise<boolean> {
    try {
      await this.#withinTime(operation, call);
      this.#failing.delete(operation);
      localReaders.wake(this.#streamId);
      return true;
    } catch (error) {
      if (!this.#failing.has(operation)) this.#report({ operation, error });
      this.#failing.add(operation);
      return false;
    }
  }

  #withinTime(operation: string, work: () => Promise<unknown>): Promise<unknown> {
    const { clock, timeoutMs: ms } = this.#options;
    const late = () => {
      const cause = new Error(`The store did not answer within ${ms} ms.`);
      return new StorageError("unavailable", operation, "a stream", { cause });
    };
    return withinTime({ ms, clock, late }, new AbortController().signal, work);
  }

  #report(failure: FailedStreamCall): void {
    const { operation, error } = failure;
    const what = `${operation} of a stream store failed. Clients see the stored responses`;
    warnOnce("stream_store_failed", `${what}: ${reasonOf(error)}`);
    this.#options.onFailure(failure);
  }
}

/** A stored chunk. `at` is the length of the earlier text of the same kind. */
export type StoredChunk = RunDelta & { readonly at?: number };

const place = {
  nodeId: z.string(),
  requestId: z.string(),
  branch: z.string().exactOptional(),
  agentPath: z.array(z.string()).exactOptional(),
};
const chunkSchema: z.ZodType<StoredChunk> = z.union([
  z.object({
    ...place,
    type: z.enum(["text-delta", "reasoning-delta"]),
    text: z.string(),
    at: z.number().exactOptional(),
  }),
  z.object({ ...place, type: z.literal("restart") }),
]);

/** Returns `undefined` for a chunk that no writer has stored. */
export function parseChunk(text: string): StoredChunk | undefined {
  return chunkSchema.safeParse(parsedJson(text)).data;
}
