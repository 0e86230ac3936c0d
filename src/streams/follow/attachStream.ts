import type { RunDelta } from "../../agent/feature/RunRequest.ts";
import { systemClock } from "../../internal/Clock.ts";
import { abortable, onAbort, withinTime } from "../../internal/abortable.ts";
import { assertAgentId } from "../../internal/options/assertAgentId.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import {
  abortSignalSchema,
  integerFrom,
  nonEmptyString,
  objectWithMethods,
} from "../../internal/options/optionSchemas.ts";
import { logStorageOf } from "../../storage/checkpoints/CheckpointRecordLog.ts";
import { type PersistenceStorageProvider, providerSchema } from "../../storage/PersistenceStorageProvider.ts";
import type { StreamEntry, StreamStore, StreamPlace } from "../store/StreamStore.ts";
import { parseChunk, type StoredChunk } from "../write/StreamWriter.ts";
import { type LogItem, type StoredResponse, StoredResponses } from "./StoredResponses.ts";
import { StreamCursor, type TextKind } from "./StreamCursor.ts";
import { z } from "zod";
import { reasonOf } from "../../internal/reasonOf.ts";
import { warnOnce } from "../../internal/warn.ts";

/**
 * A part of a response, as {@link RunDelta} describes it. `restart` means that the earlier parts of the response are
 * invalid, because the request is made again after a failure or a crash.
 */
export type StreamChunk = RunDelta & {
  /**
   * The position of the client after this chunk. Pass it as the option `after`. You can use it as the `id` of a
   * server-sent event.
   */
  readonly position: string;
};

/** Options of `attach`. */
export interface AttachStreamOptions {
  /** The position of the last chunk that the client has received. Defaults to the start of the run in progress. */
  readonly after?: string | undefined;
  /** Waits until this run starts. Shows the newest run after its end as well, and no earlier run. */
  readonly runId?: string | undefined;
  /** Ends the iteration when aborted, even if the store or the storage does not respond. */
  readonly signal?: AbortSignal | undefined;
  /** How often to look for new chunks, in milliseconds. Defaults to 100. A store that can notify is faster. */
  readonly pollMs?: number | undefined;
  /** How long a call of the store may take. Defaults to 5,000 ms. Without the store, responses follow from the log. */
  readonly storeTimeoutMs?: number | undefined;
}

/** Where the streams and the logs of agents are. */
export interface StreamSource {
  /** The storage of the agents. */
  readonly storage: PersistenceStorageProvider;
  readonly store: StreamStore;
}

export const streamStoreSchema: z.ZodType<StreamStore> = objectWithMethods<StreamStore>("append", "read", "remove");
const sourceSchema = strictOptions(() => ({ storage: providerSchema, store: streamStoreSchema }));
const optionsSchema = strictOptions(() => ({
  after: z.string().optional(),
  runId: nonEmptyString.optional(),
  signal: abortSignalSchema.optional(),
  pollMs: integerFrom(1).optional(),
  storeTimeoutMs: integerFrom(1).optional(),
}));

/**
 * Yields the responses of the run in progress, in any process: first the chunks that the client has missed, then each
 * new chunk when it is stored. Ends when the run ends or waits. If no run is in progress, waits for the run `runId`, or
 * yields the responses after the position `after`.
 *
 * @throws InvalidAgentIdError, InvalidInputError, and the errors of the storage
 */
export function attachStream(
  source: StreamSource,
  agentId: string,
  options: AttachStreamOptions = {},
): AsyncGenerator<StreamChunk, void, undefined> {
  checkSchema(sourceSchema, source, "source of a stream");
  assertAgentId(agentId);
  checkSchema(optionsSchema, options, "options of attach()");
  const cursor = options.after === undefined ? undefined : StreamCursor.parse(options.after);
  return new StreamFollower(source, agentId, options).follow(cursor);
}

class StreamFollower {
  readonly #store: StreamStore;
  readonly #agentId: string;
  readonly #options: AttachStreamOptions;
  readonly #signal: AbortSignal;
  readonly #responses: StoredResponses;
  #cursor = new StreamCursor();

  constructor({ storage, store }: StreamSource, agentId: string, options: AttachStreamOptions) {
    this.#store = store;
    this.#agentId = agentId;
    this.#options = options;
    this.#signal = options.signal ?? new AbortController().signal;
    this.#responses = new StoredResponses(logStorageOf(storage).log, agentId);
  }

  async *follow(cursor: StreamCursor | undefined): AsyncGenerator<StreamChunk, void, undefined> {
    const changes = changesOf(this.#store, this.#agentId, this.#options);
    try {
      for (let begins = false; !this.#signal.aborted;) {
        // The store first: chunks are removed only after their response is in the log.
        const entries = await readStore(this.#store, this.#agentId, (cursor ?? this.#cursor).chunk, {
          ms: this.#options.storeTimeoutMs,
          signal: this.#signal,
        });
        await abortable(this.#signal, () => this.#responses.read(cursor?.log[0]));
        begins ||= this.#begin(cursor);
        if (begins) {
          yield* this.#fromLog();
          yield* this.#fromStore(entries);
        }
        if (this.#isOver(begins)) return yield* this.#discardOpen();
        await changes.next();
      }
    } catch (error) {
      if (!this.#signal.aborted) throw error;
    } finally {
      changes.end();
    }
  }

  #begin(cursor: StreamCursor | undefined): boolean {
    const { runId } = this.#options;
    const { isInProgress, newestRun } = this.#responses;
    if (!cursor && (runId === undefined ? !isInProgress : newestRun !== runId)) return false;
    this.#cursor = cursor ?? this.#cursor;
    if (!cursor) this.#cursor.log = this.#responses.runStart;
    return true;
  }

  #isOver(begins: boolean): boolean {
    const { runId } = this.#options;
    if (begins && this.#responses.isInProgress) return false;
    return runId === undefined || this.#responses.runs.has(runId);
  }

  *#fromLog(): Generator<StreamChunk> {
    const { items } = this.#responses;
    for (const item of items.splice(0, items.length)) {
      if (!isAfter(item, this.#cursor.log)) continue;
      if (item.response) yield* this.#rest(item, item.response);
      else yield* this.#discardOpen();
      this.#cursor.log = item.at;
    }
  }

  /** Yields the parts of a complete response that the client has not received. */
  *#rest({ at }: LogItem, { texts, ...place }: StoredResponse): Generator<StreamChunk> {
    const { requestId } = place;
    const kinds: readonly TextKind[] = ["reasoning", "text"];
    const known = this.#cursor.open.get(requestId);
    if (known && !kinds.every((kind) => known[kind].isStartOf(texts[kind]))) {
      this.#cursor.open.delete(requestId);
      yield this.#chunk({ type: "restart", ...place });
    }
    const received = this.#cursor.received(place);
    const missing = kinds
      .map((kind) => ({ kind, text: texts[kind].slice(received[kind].length) }))
      .filter(({ text }) => text !== "");
    for (const [index, { kind, text }] of missing.entries()) {
      received[kind].add(text);
      if (index === missing.length - 1) this.#complete(requestId, at);
      yield this.#chunk({ type: `${kind}-delta`, text, ...place });
    }
    this.#complete(requestId, at);
  }

  #complete(requestId: string, at: LogItem["at"]): void {
    this.#cursor.open.delete(requestId);
    this.#cursor.log = at;
  }

  *#fromStore(entries: readonly StreamEntry[]): Generator<StreamChunk> {
    const newest = Math.max(this.#responses.generation, entries[0]?.writer ?? 0);
    if (this.#cursor.chunk.writer < newest) {
      // Another process continues the run, and makes the interrupted requests again.
      yield* this.#discardOpen();
      this.#cursor.chunk = { writer: newest, number: 0 };
    }
    for (const { writer, first, chunks } of entries) {
      if (writer !== this.#cursor.chunk.writer) continue;
      for (const [index, text] of chunks.entries()) {
        const number = first + index;
        if (number <= this.#cursor.chunk.number) continue;
        this.#cursor.chunk = { writer, number };
        const chunk = parseChunk(text);
        if (chunk) yield* this.#shown(chunk);
      }
    }
  }

  *#shown({ at = 0, ...chunk }: StoredChunk): Generator<StreamChunk> {
    const { requestId } = chunk;
    if (this.#responses.isAnswered(requestId)) return;
    if (chunk.type === "restart") {
      if (this.#cursor.open.delete(requestId)) yield this.#chunk(chunk);
      return;
    }
    const received = this.#cursor.received(chunk)[chunk.type === "text-delta" ? "text" : "reasoning"];
    // After a lost chunk, the rest follows from the log.
    if (received.length !== at) return;
    received.add(chunk.text);
    yield this.#chunk(chunk);
  }

  *#discardOpen(): Generator<StreamChunk> {
    for (const [requestId, { text: _text, reasoning: _reasoning, ...place }] of this.#cursor.open) {
      this.#cursor.open.delete(requestId);
      yield this.#chunk({ type: "restart", requestId, ...place });
    }
  }

  #chunk(delta: RunDelta): StreamChunk {
    return { ...delta, position: this.#cursor.position };
  }
}

function isAfter({ at }: LogItem, [position, items]: LogItem["at"]): boolean {
  return at[0] > position || (at[0] === position && at[1] > items);
}

/** Waits until a stream has possibly changed: a call of the store, or the next poll. */
function changesOf(store: StreamStore, agentId: string, { signal, pollMs = 100 }: AttachStreamOptions) {
  let isChanged = false;
  let wake: (() => void) | undefined;
  const changed = () => {
    isChanged = true;
    wake?.();
  };
  const ends = [store.watch?.(agentId, changed), signal && onAbort(signal, changed)];
  return {
    async next(): Promise<void> {
      if (!isChanged)
        await new Promise<void>((resolve) => {
          const cancel = systemClock.after(pollMs, resolve);
          wake = () => {
            cancel();
            resolve();
          };
        });
      wake = undefined;
      isChanged = false;
    },
    end: () => ends.forEach((end) => end?.()),
  };
}

interface ReadLimit {
  /** In milliseconds. Defaults to 5 seconds. */
  readonly ms?: number | undefined;
  readonly signal: AbortSignal;
}

/** Reads the chunks of an agent. Returns no entries if the store fails or does not answer in time. */
export async function readStore(
  store: StreamStore,
  agentId: string,
  after: StreamPlace,
  { ms = 5_000, signal }: ReadLimit,
): Promise<readonly StreamEntry[]> {
  const late = (): Error => new Error(`The store did not answer within ${ms} ms.`);
  try {
    return await withinTime({ ms, clock: systemClock, late }, signal, () => store.read(agentId, after));
  } catch (error) {
    if (!signal.aborted)
      warnOnce(
        "stream_store_failed",
        `read of a stream store failed. Clients see the stored responses: ${reasonOf(error)}`,
      );
    return [];
  }
}
