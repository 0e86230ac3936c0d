import { z } from "zod";
import { AIAgent } from "../../agent/AIAgent.ts";
import type { AgentContext } from "../../agent/context/AgentContext.ts";
import { runOf } from "../../agent/feature/ContextBinding.ts";
import type { AgentFeature } from "../../agent/feature/FeaturePipeline.ts";
import type { ResumeOptions, RunOptions } from "../../agent/feature/RunRequest.ts";
import type { PendingRequest } from "../../agent/feature/RunResult.ts";
import { strategy } from "../../agent/strategy/Strategy.ts";
import { valueDigest } from "../../checkpoint/values/isSameValue.ts";
import { DuplicateNameError } from "../../errors/strategyErrors.ts";
import { type PersistenceConfig, RollbackToolRegistry } from "../../index.ts";
import { assertAgentId } from "../../internal/options/assertAgentId.ts";
import { abortSignalSchema, nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/checkSchema.ts";
import type { DurableAgent } from "../../persistence/DurableAgent.ts";
import { extendPersistence } from "../../persistence/extendPersistence.ts";
import { Persistence, persistence } from "../../persistence/Persistence.ts";
import type { PersistenceFeature } from "../../persistence/PersistenceFeature.ts";
import { readRecording } from "../../replay/recording/readRecording.ts";
import type { ReplayResult } from "../../replay/run/replayRecording.ts";
import { logStorageOf } from "../../storage/checkpoints/CheckpointRecordLog.ts";
import type { LogStorage } from "../../storage/PersistenceStorageProvider.ts";
import type { StreamStore } from "../../streams/store/StreamStore.ts";
import { type StreamsConfig, StreamWriters } from "../../streams/write/StreamWriters.ts";
import type { HostedLoop } from "./HostedLoop.ts";
import type { HostedTool } from "./HostedTool.ts";
import { LiveLoop } from "./LiveLoop.ts";
import { RecordedLoop, LoopComparison } from "./RecordedLoop.ts";
import { RunRecords } from "./RunRecords.ts";
import { ScopedValue } from "./ScopedValue.ts";

/** Runs the loop of another runtime, such as the AI SDK, from its start. `input` is the stored input of the run. */
export type HostedBody<Result> = (loop: HostedLoop, input: unknown) => Promise<Result>;

/** The result of a run. A failed or aborted run rejects instead. */
export type HostedResult<Result> =
  | { readonly status: "completed"; readonly runId: string; readonly value: Result }
  | { readonly status: "waiting"; readonly runId: string; readonly requests: readonly PendingRequest[] };

/** The options of `install(Persistence)` that agents of other runtimes share. */
export type HostedConfig = Omit<
  PersistenceConfig,
  | "rollbackToolRegistry"
  | "triggers"
  | "enableAutomaticPersistence"
  | "trimming"
  | "migrations"
  | "environment"
  | "storage"
> & { readonly storage: NonNullable<PersistenceConfig["storage"]> };

const given = z.unknown().optional();

/** Lists the options of {@link HostedConfig}. `install(Persistence)` checks the values of the options. */
export const hostedShape = {
  storage: z.looseObject({}),
  participants: given,
  onToolCallInDoubt: given,
  approvals: given,
  inverseRetry: given,
  abortGraceMs: given,
  sleepInProcessMs: given,
  onEvent: given,
  onListenerError: given,
  maxCheckpointBytes: given,
  retention: given,
  retentionSchedule: given,
  telemetry: given,
  redact: given,
  clock: given,
} satisfies Record<keyof HostedConfig, z.ZodType>;

/** The streams of responses. The loop of the other runtime writes the chunks. */
const hostedStreams: AgentFeature<StreamsConfig, StreamWriters> = {
  key: "HostedStreams",
  install(pipeline, config) {
    const writers = new StreamWriters(config, extendPersistence(pipeline));
    // Ends the stream together with the run, because the body of a waiting run never ends.
    pipeline.aroundRun((request, next) =>
      writers.during(request.agentId, request.start?.generation ?? 0, () => next(request)),
    );
    return writers;
  },
};

/** The loop that a call of {@link HostedAgents.run} or `resume` runs in this process. */
type RunningBody = (input: unknown, context: AgentContext) => Promise<void>;

/**
 * Runs loops of other runtimes durably. Each run executes a strategy with one node, which runs the loop. Model
 * responses and tool calls are recorded for this node, and each step of the loop makes a checkpoint.
 */
export class HostedAgents {
  readonly #agent: AIAgent<unknown, null>;
  readonly #bodies = new ScopedValue<RunningBody>();
  readonly #registry = new RollbackToolRegistry();
  readonly #storage: LogStorage;
  readonly #streams: StreamWriters | undefined;

  /**
   * @param name the name of the strategy. Only runs with the same name can be resumed.
   * @param config.streams stores responses while models write them, so that other processes can show them
   * @param tools the tools that the definition has. A rollback from outside of a run uses these tools.
   */
  constructor(
    name: string,
    { streams, ...config }: HostedConfig & { readonly streams?: StreamStore | undefined },
    tools: readonly HostedTool[],
  ) {
    for (const tool of tools) this.#register(tool);
    const body = (input: unknown, context: AgentContext) => this.#body(input, context);
    this.#agent = new AIAgent<unknown, null>({
      id: name,
      llmModel: "hosted",
      promptExecutor: {
        execute: () => Promise.reject(new TypeError("A hosted loop uses the models of its own runtime.")),
      },
      strategy: strategy<unknown, null>(name, (graph) => {
        const run = graph.node("run", body);
        graph.edge(graph.start, run);
        graph.edge(run, graph.finish);
      }),
      tools: tools.map(({ tool }) => tool),
      modelRetry: false,
      maxIterations: Number.POSITIVE_INFINITY,
    });
    this.#agent.install(Persistence, { ...config, rollbackToolRegistry: this.#registry });
    this.#storage = logStorageOf(this.feature.storage);
    this.#streams = streams && this.#agent.install(hostedStreams, { store: streams }).feature(hostedStreams);
  }

  /** @throws the errors of `AIAgent.run` and of the body */
  run<Result>(input: unknown, options: RunOptions, body: HostedBody<Result>): Promise<HostedResult<Result>> {
    return this.#settled(options.agentId, body, () => this.#agent.run(input, options));
  }

  /** Continues a run. For a finished run, runs the body on the run's records. */
  resume<Result>(options: ResumeOptions, body: HostedBody<Result>): Promise<HostedResult<Result>> {
    return this.#settled(options.agentId, body, () => this.#agent.resume(options));
  }

  agent(agentId: string): DurableAgent {
    return this.feature.agent(agentId);
  }

  get feature(): PersistenceFeature {
    return persistence(this.#agent);
  }

  async isRunning(agentId: string): Promise<boolean> {
    return (await this.#storage.log.owner(agentId))?.state === "alive";
  }

  /** Returns a digest of a value that is the same in every process. */
  async digestOf(value: unknown): Promise<string | undefined> {
    return valueDigest(value, await this.#storage.sha256());
  }

  async records(agentId: string, runId?: string): Promise<RunRecords> {
    const records = new RunRecords(this.#storage.log, agentId, runId);
    await records.read();
    return records;
  }

  /** Runs a body on the records of a run. `follow` waits for more records. Omit `follow` for a finished run. */
  async replay<Result>(
    records: RunRecords,
    body: HostedBody<Result>,
    options: { readonly signal?: AbortSignal | undefined; readonly follow?: () => Promise<void> } = {},
  ): Promise<Result> {
    const sha256 = await this.#storage.sha256();
    const { store } = this.#streams ?? {};
    const owner = async () => (await this.#storage.log.owner(records.agentId))?.generation ?? 0;
    const loop = new RecordedLoop(records, { sha256, ...options, streams: store && { store, owner } });
    return settledBy(loop, () => body(loop, records.input));
  }

  /** Runs a body on the records of a stored run and compares its requests with them. Does not write. */
  async compare<Result>(
    agentId: string,
    { runId, signal }: HostedReplayOptions,
    body: HostedBody<Result>,
  ): Promise<HostedReplay<Result>> {
    assertAgentId(agentId);
    const recording = await readRecording(this.#storage.log, agentId, runId);
    const records = await this.records(agentId, recording.runId);
    const comparison = new LoopComparison(recording);
    const loop = new RecordedLoop(records, { sha256: await this.#storage.sha256(), signal, comparison });
    const end = await settledBy(loop, () => body(loop, records.input)).then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    signal?.throwIfAborted();
    const divergence = comparison.divergence(end);
    if (divergence) return { matches: false, divergence, status: "diverged" };
    return { matches: true, status: recording.end.status, ...("value" in end && { result: end.value }) };
  }

  async #settled<Result>(
    agentId: string = this.feature.agentId,
    body: HostedBody<Result>,
    start: () => ReturnType<AIAgent<unknown, null>["run"]>,
  ): Promise<HostedResult<Result>> {
    let done: { readonly value: Result } | undefined;
    const run: RunningBody = async (input, context) => {
      done = undefined;
      const loop = new LiveLoop(context, this.#streams?.of(runOf(context)));
      done = { value: await settledBy(loop, () => body(loop, input)) };
    };
    const result = await this.#bodies.run(run, start);
    const { runId } = result;
    if (result.status === "waiting") return { status: "waiting", runId, requests: result.requests };
    const { value } = done ?? { value: await this.replay(await this.records(agentId, runId), body) };
    return { status: "completed", runId, value };
  }

  async #body(input: unknown, context: AgentContext): Promise<null> {
    const run = this.#bodies.get();
    if (!run) throw new TypeError("A hosted run must be started by HostedAgents.");
    await run(input, context);
    return null;
  }

  #register({ tool, settings: { rollback } }: HostedTool): void {
    if (this.#registry.has(tool.name)) throw new DuplicateNameError("duplicate_tool", tool.name);
    if (!rollback) return;
    this.#registry.registerRollback(tool, (input, { toolCallId, output, abortSignal }) =>
      rollback(input as never, { toolCallId, output: output as never, abortSignal }),
    );
  }
}

/** Throws the failure of the loop if it has one, because the other runtime can catch or convert the error. */
async function settledBy<Result>(loop: HostedLoop, run: () => Promise<Result>): Promise<Result> {
  let value: Result;
  try {
    value = await run();
  } catch (error) {
    throw loop.failure ? loop.failure.error : error;
  }
  if (loop.failure) throw loop.failure.error;
  return value;
}

/** Options of a replay of a stored run. */
export interface HostedReplayOptions {
  /** Defaults to the newest run of the agent. */
  readonly runId?: string | undefined;
  /** Stops the replay with the signal's reason. Defaults to no signal. */
  readonly signal?: AbortSignal | undefined;
}

/** The result of a replay of a stored run. The matcher `toMatchRecording` accepts this result. */
export interface HostedReplay<Result> extends Pick<ReplayResult, "matches" | "divergence" | "status"> {
  /** The result of the agent, if the replayed run has completed. */
  readonly result?: Result;
}

export const hostedReplaySchema: z.ZodType = strictOptions(() => ({
  runId: nonEmptyString.optional(),
  signal: abortSignalSchema.optional(),
}));
