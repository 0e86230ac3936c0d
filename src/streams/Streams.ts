import { AIAgent } from "../agent/AIAgent.ts";
import type { AgentFeature, FeaturePipeline } from "../agent/feature/FeaturePipeline.ts";
import { callOf, runOf } from "../agent/feature/ContextBinding.ts";
import type { AgentRun } from "../agent/feature/AgentRun.ts";
import type { OnDelta, RunDelta, RunRequest } from "../agent/feature/RunRequest.ts";
import { answerKey } from "../checkpoint/records/Visit.ts";
import { FeatureNotInstalledError, InvalidInputError } from "../errors/agentErrors.ts";
import { type Clock, systemClock } from "../internal/Clock.ts";
import { checkSchema } from "../internal/options/checkSchema.ts";
import { clockSchema, integerFrom } from "../internal/options/optionSchemas.ts";
import { strictOptions } from "../internal/options/strictOptions.ts";
import { persistence } from "../persistence/Persistence.ts";
import { type AttachStreamOptions, attachStream, type StreamChunk, streamStoreSchema } from "./follow/attachStream.ts";
import type { StreamPlace, StreamStore } from "./store/StreamStore.ts";
import { StreamWriter } from "./write/StreamWriter.ts";

/** Options of `install(Streams)`. */
export interface StreamsConfig {
  readonly store: StreamStore;
  /** How long a chunk waits for others before it is stored, in milliseconds. Defaults to 250. */
  readonly batchDelayMs?: number | undefined;
  /**
   * The number of chunks that are stored together. After its first four appends, a response takes one append for each
   * batch. Defaults to 64.
   */
  readonly batchChunks?: number | undefined;
  /** Defaults to the system clock. */
  readonly clock?: Clock | undefined;
}

const configSchema = strictOptions({
  store: streamStoreSchema,
  batchDelayMs: integerFrom(0).optional(),
  batchChunks: integerFrom(1).optional(),
  clock: clockSchema.optional(),
});

/** The agents whose last place is remembered. One process seldom owns more at a time. */
const mostPlaces = 1_000;

/** The writers of the runs in this process. */
export class StreamWriters {
  readonly store: StreamStore;
  readonly #config: StreamsConfig;
  readonly #writers = new Map<string, StreamWriter>();
  /** The next places of agents, because an owner can make several runs. */
  readonly #places = new Map<string, StreamPlace>();

  constructor(config: StreamsConfig) {
    this.#config = config;
    this.store = config.store;
  }

  of({ agentId }: Pick<AgentRun, "agentId">): StreamWriter | undefined {
    return this.#writers.get(agentId);
  }

  async during<Result>(
    agentId: string,
    generation: number,
    run: (onDelta: OnDelta) => Promise<Result>,
  ): Promise<Result> {
    const { store, batchDelayMs: delayMs = 250, batchChunks: chunks = 64, clock = systemClock } = this.#config;
    const last = this.#places.get(agentId);
    const next = last?.writer === generation ? last : { writer: generation, number: 1 };
    const writer = new StreamWriter(store, agentId, next, { delayMs, chunks, clock });
    this.#writers.set(agentId, writer);
    try {
      return await run((delta) => writer.add(delta));
    } finally {
      if (this.#writers.get(agentId) === writer) this.#writers.delete(agentId);
      this.#remember(agentId, writer.next);
      await writer.end();
    }
  }

  #remember(agentId: string, place: StreamPlace): void {
    this.#places.delete(agentId);
    this.#places.set(agentId, place);
    for (const oldest of this.#places.keys()) {
      if (this.#places.size <= mostPlaces) return;
      this.#places.delete(oldest);
    }
  }
}

/**
 * The feature that stores the chunks of responses while models write them, so that clients in any process can
 * {@link streams | attach} to a run. Install it after Persistence.
 *
 * @example
 * ```ts
 * const agent = new AIAgent({ promptExecutor, llmModel })
 *   .install(Persistence, { storage })
 *   .install(Streams, { store: new FileStreamStore() });
 * ```
 */
export const Streams: AgentFeature<StreamsConfig, StreamWriters> = {
  key: "Streams",
  install(pipeline, config) {
    checkSchema(configSchema, config, "options of install(Streams)");
    const writers = new StreamWriters(config);
    pipeline.aroundRun(async (request, next) => {
      const { agentId, start } = request;
      if (!start) throw new FeatureNotInstalledError("Persistence", "Streams", installFirst);
      return writers.during(agentId, start.generation, (onDelta) => next(withDeltas(request, onDelta)));
    });
    removeStored(pipeline, writers);
    return writers;
  },
};

const installFirst = "Add .install(Persistence, { … }) before .install(Streams, { … }).";

function withDeltas(request: RunRequest, onDelta: OnDelta): RunRequest {
  const { onDelta: own } = request.options;
  const both: OnDelta = (delta) => {
    onDelta(delta);
    own?.(delta);
  };
  return { ...request, options: { ...request.options, onDelta: both } };
}

function removeStored(pipeline: FeaturePipeline, writers: StreamWriters): void {
  pipeline.onModelRequestFailed(({ context, visit, ordinal }) => {
    const run = runOf(context);
    const requestId = answerKey([visit.base, visit.ordinal], ordinal, callOf(context)?.toolCallId);
    writers.of(run)?.discard({ requestId, nodeId: context.nodeId, ...pathOf(run) });
  });
  pipeline.onNodeCompleted(({ run, context }) => {
    // Requests of other branches are still open.
    const writer = run.parent ? undefined : writers.of(run);
    const requestIds = writer?.openRequests ?? [];
    if (!writer || requestIds.length === 0) return;
    const stored = persistence(context).durable();
    // If the append failed, the run fails as well.
    stored.then(() => writer.remove(requestIds)).catch(() => undefined);
  });
}

function pathOf({ branch, agentPath }: AgentRun): Pick<RunDelta, "branch" | "agentPath"> {
  return { ...(branch !== undefined && { branch }), ...(agentPath.length > 0 && { agentPath }) };
}

/** The streams of agents. Returned by {@link streams}. */
export interface AgentStreams {
  /** Attaches a client to the run in progress. See {@link attachStream}. */
  attach(agentId: string, options?: AttachStreamOptions): AsyncGenerator<StreamChunk, void, undefined>;
}

/**
 * Returns the streams of an agent definition with the feature {@link Streams}. The agents may run in other processes.
 *
 * @throws FeatureNotInstalledError, InvalidInputError
 *
 * @example
 * ```ts
 * for await (const { position, ...delta } of streams(agent).attach("team-7", { after })) send(position, delta);
 * ```
 */
export function streams(agent: AIAgent<never, unknown>): AgentStreams {
  if (!(agent instanceof AIAgent))
    throw new InvalidInputError("argument of streams()", [{ path: "", expected: "expected an agent" }]);
  const { store } = agent.feature(Streams);
  const { storage } = persistence(agent);
  return { attach: (agentId, options) => attachStream({ storage, store }, agentId, options) };
}
