import { StorageError } from "../../errors/storageErrors.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { objectWithMethods } from "../../internal/options/optionSchemas.ts";
import { isUpTo, type StreamEntry, type StreamPlace, type StreamStore, visibleEntries } from "./StreamStore.ts";
import { z } from "zod";

/**
 * Sends commands to Redis. A client of ioredis implements this interface. For a client of node-redis, pass
 * `{ call: (...command) => client.sendCommand(command) }`.
 */
export interface RedisStreamClient {
  call(command: string, ...values: string[]): PromiseLike<unknown>;
}

/** Options of {@link RedisStreamStore}. */
export interface RedisStreamStoreOptions {
  /** The store does not close it. */
  readonly client: RedisStreamClient;
  /** The start of the keys of the streams. Defaults to `agent-persistence:stream:`. */
  readonly prefix?: string | undefined;
}

const optionsSchema = strictOptions(() => ({
  client: objectWithMethods<RedisStreamClient>("call"),
  prefix: z.string().optional(),
}));

/** A reply of XRANGE: the id of each entry, and its fields and values. */
type RangeReply = readonly (readonly [id: string, fields: readonly string[]])[];

/**
 * Stores each stream as a stream of Redis, for any number of processes and machines. The id of an entry is its writer
 * and its first number, so that Redis itself refuses the entries of earlier writers.
 *
 * @throws InvalidInputError if an option is unknown or invalid.
 */
export class RedisStreamStore implements StreamStore {
  readonly #client: RedisStreamClient;
  readonly #prefix: string;

  constructor(options: RedisStreamStoreOptions) {
    checkSchema(optionsSchema, options, "options of the Redis stream store");
    this.#client = options.client;
    this.#prefix = options.prefix ?? "agent-persistence:stream:";
  }

  async append(streamId: string, { writer, first, chunks }: StreamEntry): Promise<void> {
    try {
      await this.#client.call("XADD", this.#keyOf(streamId), `${writer}-${first}`, "chunks", JSON.stringify(chunks));
    } catch (error) {
      // The entry is stored already, or a later writer has taken over.
      if (!/equal or smaller/i.test(String(error))) throw failed("XADD", error);
    }
  }

  async read(streamId: string, after?: StreamPlace): Promise<readonly StreamEntry[]> {
    return visibleEntries(await this.#entries(streamId), after);
  }

  async remove(streamId: string, upTo?: StreamPlace): Promise<void> {
    if (!upTo) return void (await this.#ask("DEL", this.#keyOf(streamId)));
    const removed = (await this.#entries(streamId)).filter((entry) => isUpTo(entry, upTo));
    const ids = removed.map(({ writer, first }) => `${writer}-${first}`);
    if (ids.length > 0) await this.#ask("XDEL", this.#keyOf(streamId), ...ids);
  }

  async #entries(streamId: string): Promise<readonly StreamEntry[]> {
    const reply = (await this.#ask("XRANGE", this.#keyOf(streamId), "-", "+")) as RangeReply;
    return reply.map(([id, [, chunks = "[]"]]) => {
      const [writer = 0, first = 0] = id.split("-").map(Number);
      return { writer, first, chunks: JSON.parse(chunks) as string[] };
    });
  }

  async #ask(command: string, ...values: string[]): Promise<unknown> {
    try {
      return await this.#client.call(command, ...values);
    } catch (error) {
      throw failed(command, error);
    }
  }

  #keyOf(streamId: string): string {
    return `${this.#prefix}${streamId}`;
  }
}

function failed(command: string, cause: unknown): StorageError {
  return new StorageError("unavailable", command, "the streams in Redis", { cause });
}
