import { AIAgent } from "../agent/AIAgent.ts";
import type { AgentFeature, FeaturePipeline } from "../agent/feature/FeaturePipeline.ts";
import { callOf, runOf } from "../agent/feature/ContextBinding.ts";
import type { AgentRun } from "../agent/feature/AgentRun.ts";
import { DeltaSender } from "../agent/node/DeltaSender.ts";
import type { OnDelta, RunDelta, RunRequest } from "../agent/feature/RunRequest.ts";
import { answerKey } from "../checkpoint/records/Visit.ts";
import { FeatureNotInstalledError, InvalidInputError } from "../errors/agentErrors.ts";
import { checkSchema, strictOptions } from "../internal/options/checkSchema.ts";
import { clockSchema, integerFrom } from "../internal/options/optionSchemas.ts";
import { extendPersistence } from "../persistence/extendPersistence.ts";
import { persistence } from "../persistence/Persistence.ts";
import { type AttachStreamOptions, attachStream, type StreamChunk, streamStoreSchema } from "./follow/attachStream.ts";
import { type StreamsConfig, StreamWriters } from "./write/StreamWriters.ts";

const configSchema = strictOptions(() => ({
  store: streamStoreSchema,
  batchDelayMs: integerFrom(0).optional(),
  batchChunks: integerFrom(1).optional(),
  storeTimeoutMs: integerFrom(1).optional(),
  clock: clockSchema.optional(),
}));

/**
 * The feature that stores the chunks of responses while models write them. Clients in any process can then {@link
 * streams | attach} to a run. Install this feature after Persistence.
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
    const writers = new StreamWriters(config, extendPersistence(pipeline));
    pipeline.aroundRun(async (request, next) => {
      const { agentId, start } = request;
      if (!start) throw new FeatureNotInstalledError("Persistence", "Streams", installFirst);
      return writers.during(agentId, start.generation, (writer) =>
        next(withDeltas(request, (delta) => writer.add(delta))),
      );
    });
    removeStored(pipeline, writers);
    return writers;
  },
};

const installFirst = "Add .install(Persistence, { … }) before .install(Streams, { … }).";

function withDeltas(request: RunRequest, onDelta: OnDelta): RunRequest {
  const { onDelta: own } = request.options;
  // If the listener of the run throws, the clients of the stream still see each chunk.
  const sender = own && new DeltaSender(own);
  const both: OnDelta = (delta) => {
    onDelta(delta);
    sender?.send(delta);
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
    // The requests of the other branches of a parallel node are open.
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
