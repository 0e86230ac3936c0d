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
  /** The client, which the store does not close. */
  readonly client: RedisStreamClient;
  /** The start of the keys of the streams. Defaults to `agent-persistence:stream:`. */
  readonly prefix?: string | undefined;
}

const optionsSchema = strictOptions(() => ({
  client: objectWithMethods<RedisStreamClient>("call"),
  prefix: z.string().optional(),
}));

interface RangeOfIds {
  readonly start?: string | undefined;
  readonly end?: string;
}

/** A reply of XRANGE: the id of each entry, and its fields and values. */
type RangeReply = readonly (readonly [id: string, fields: readonly string[]])[];

/**
 * Stores each stream as a stream of Redis, for any number of processes and machines. The id of an entry consists of its
 * writer and its first number, so that Redis itself refuses the entries of earlier writers.
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
      // Redis has this entry, or an entry of a later writer.
      if (!/equal or smaller/i.test(String(error))) throw failed("XADD", error);
    }
  }

  async read(streamId: string, after?: StreamPlace): Promise<readonly StreamEntry[]> {
    const start = after && (await this.#idAt(streamId, after));
    return visibleEntries(await this.#entries(streamId, { start }), after);
  }

  async remove(streamId: string, upTo?: StreamPlace): Promise<void> {
    if (!upTo) return void (await this.#ask("DEL", this.#keyOf(streamId)));
    const entries = await this.#entries(streamId, { end: `${upTo.writer}-${upTo.number}` });
    const ids = entries.filter((entry) => isUpTo(entry, upTo)).map(({ writer, first }) => `${writer}-${first}`);
    if (ids.length > 0) await this.#ask("XDEL", this.#keyOf(streamId), ...ids);
  }

  /** Returns the id of the entry that contains a place, or else of the last entry before the place. */
  async #idAt(streamId: string, { writer, number }: StreamPlace): Promise<string | undefined> {
    const place = `${writer}-${number}`;
    const [entry] = (await this.#ask("XREVRANGE", this.#keyOf(streamId), place, "-", "COUNT", "1")) as RangeReply;
    return entry?.[0];
  }

  async #entries(streamId: string, { start = "-", end = "+" }: RangeOfIds): Promise<readonly StreamEntry[]> {
    const reply = (await this.#ask("XRANGE", this.#keyOf(streamId), start, end)) as RangeReply;
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
