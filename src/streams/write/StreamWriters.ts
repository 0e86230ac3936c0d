import { setNewest } from "../../internal/deleteOldest.ts";
import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import { type Clock, systemClock } from "../../internal/Clock.ts";
import type { StreamPlace, StreamStore } from "../store/StreamStore.ts";
import type { PersistenceExtension } from "../../persistence/extendPersistence.ts";
import { type StreamCallOptions, StreamCalls, StreamWriter } from "./StreamWriter.ts";

/** Options of `install(Streams)`. */
export interface StreamsConfig {
  readonly store: StreamStore;
  /**
   * How long each of the first four batches of a response waits for further chunks, in milliseconds. Defaults to 250.
   */
  readonly batchDelayMs?: number | undefined;
  /** The number of chunks in one batch, after the first four batches of a response. Defaults to 64. */
  readonly batchChunks?: number | undefined;
  /**
   * The time in milliseconds after which a call of the store counts as failed, and the maximum delay of the end of a
   * run. Defaults to 5,000.
   */
  readonly storeTimeoutMs?: number | undefined;
  /** Defaults to the system clock. */
  readonly clock?: Clock | undefined;
}

/** A storage that encrypts the chunks of agents, such as a storage with redacted values. */
interface EncryptsStreams {
  encryptedStreams(store: StreamStore): StreamStore;
}

/** The number of agents whose last place is remembered. A process seldom owns more agents at a time. */
const mostPlaces = 1_000;

/** The writers of the runs in this process. */
export class StreamWriters {
  readonly store: StreamStore;
  readonly #config: StreamsConfig;
  readonly #tell: PersistenceExtension["tell"] | undefined;
  readonly #writers = new Map<string, StreamWriter>();
  /** The next places of agents, because an owner can make several runs. */
  readonly #places = new Map<string, StreamPlace>();

  /** @param extension removes the streams of deleted agents, and reports failures of the store as events. */
  constructor(config: StreamsConfig, extension: PersistenceExtension | undefined) {
    this.#config = config;
    const { encryptedStreams } = Object(extension?.storage) as Partial<EncryptsStreams>;
    this.store = encryptedStreams?.call(extension?.storage, config.store) ?? config.store;
    this.#tell = extension?.tell;
    extension?.onAgentDeleted((agentId) => this.#drop(agentId));
  }

  of({ agentId }: Pick<AgentRun, "agentId">): StreamWriter | undefined {
    return this.#writers.get(agentId);
  }

  async during<Result>(
    agentId: string,
    generation: number,
    run: (writer: StreamWriter) => Promise<Result>,
  ): Promise<Result> {
    const { batchDelayMs: delayMs = 250, batchChunks: chunks = 64, clock = systemClock } = this.#config;
    const last = this.#places.get(agentId);
    const next = last?.writer === generation ? last : { writer: generation, number: 1 };
    const writer = new StreamWriter(this.#calls(agentId), next, { delayMs, chunks, clock });
    this.#writers.set(agentId, writer);
    try {
      return await run(writer);
    } finally {
      if (this.#writers.get(agentId) === writer) this.#writers.delete(agentId);
      setNewest(this.#places, agentId, writer.next, mostPlaces);
      await writer.end();
    }
  }

  #calls(agentId: string): StreamCalls {
    const { clock = systemClock, storeTimeoutMs: timeoutMs = 5_000 } = this.#config;
    const onFailure: StreamCallOptions["onFailure"] = (failure) =>
      this.#tell?.({ type: "stream_store_failed", agentId, ...failure });
    return new StreamCalls(this.store, agentId, { clock, timeoutMs, onFailure });
  }

  async #drop(agentId: string): Promise<void> {
    this.#places.delete(agentId);
    await this.#calls(agentId).remove();
  }
}
