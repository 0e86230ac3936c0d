import type { AIAgent } from "../../agent/AIAgent.ts";
import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import type { FeaturePipeline } from "../../agent/feature/FeaturePipeline.ts";
import { executeRun } from "../../agent/run/executeRun.ts";
import { IterationLimitError } from "../../errors/strategyErrors.ts";
import { platformSha256 } from "../../internal/sha256/platformSha256.ts";
import type { RunTrace } from "../trace/RunTrace.ts";
import type { Recording } from "../recording/Recording.ts";
import type { Divergence } from "../results/Divergence.ts";
import { endDivergence, type ReplayedEnd } from "./endDivergence.ts";
import { ExactReplay } from "./ExactReplay.ts";
import { freshStart } from "./freshStart.ts";
import { definitionOf, ReplayDefinitions } from "./replayDefinition.ts";
import { ReplayedPersistence } from "./ReplayedPersistence.ts";
import { recordedInput, replayInputRequest } from "./replayInputRequest.ts";
import { replayModelRequest } from "./replayModelRequest.ts";
import { TraceCollector } from "../collect/TraceCollector.ts";
import { replayToolCall } from "./replayToolCall.ts";
import { withTrace } from "../collect/withTrace.ts";

/** The result of a replay. */
export interface ReplayResult {
  /**
   * True if the run has made the recorded requests and calls on the recorded path, with the recorded output. In a
   * counterfactual replay, true if the run has completed with the recorded output.
   */
  readonly matches: boolean;
  /** The first difference. `undefined` if the run matches its recording. */
  readonly divergence?: Divergence;
  /**
   * The end of the replayed run: the recorded status, or `diverged`. In a counterfactual replay, `stopped` if nothing
   * is recorded for the request or call in `divergence`.
   */
  readonly status: string;
  /** The output of a completed run, as the strategy returned it. `trace.output` is plain JSON. */
  readonly output?: unknown;
  /** The thrown error of a counterfactual run that failed. `trace.error` is plain JSON. */
  readonly error?: unknown;
  /** The replayed run as plain JSON, for `compareRuns`. It has no times and no checkpoints. */
  readonly trace: RunTrace;
}

/**
 * Runs the strategy of an agent in memory with the results of a recording.
 *
 * @param signal Stops the replay with its reason.
 */
export async function replayRecording(
  agent: AIAgent<never, unknown>,
  recording: Recording,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<ReplayResult> {
  signal?.throwIfAborted();
  const replay = new ExactReplay(recording, await platformSha256());
  const trace = new TraceCollector(recording, (event) => recordedInput(replay, event));
  const definitions: ReplayDefinitions = new ReplayDefinitions({
    install: (pipeline, { maxIterations }) => {
      trace.install(pipeline);
      install(replay, definitions, pipeline);
      pipeline.onNodeStarting(({ run, nodeId }) => assertIterations(run, nodeId, maxIterations));
    },
    persistence: (context) => new ReplayedPersistence(context, replay),
    // All processes and moves of the run count as one execution here. Only completed nodes are limited.
    change: () => ({ maxIterations: Number.POSITIVE_INFINITY }),
  });
  const { agentId, runId, input } = recording;
  const start = replay.starting(replay.root, freshStart(recording));
  const signals = signal ? AbortSignal.any([signal, replay.signal]) : replay.signal;
  const request = { kind: "run", agentId, input, options: { runId, signal: signals }, start } as const;
  try {
    const result = await executeRun(definitions.of(definitionOf(agent)), request);
    return ended(replay, trace, result.status === "completed" ? { output: result.output } : {});
  } catch (error) {
    signal?.throwIfAborted();
    return ended(replay, trace, replay.isStop(error) ? {} : { error });
  }
}

function install(replay: ExactReplay, definitions: ReplayDefinitions, pipeline: FeaturePipeline): void {
  replay.install(pipeline);
  pipeline.aroundModelRequest((event) => replayModelRequest(replay, event));
  pipeline.aroundToolCall((event, next) => replayToolCall(replay, definitions, event, next));
  pipeline.aroundInputRequest((event, next) => replayInputRequest(replay, event, next));
  pipeline.aroundBranch(async (event, next) => {
    const begun = await next(event);
    if ("result" in begun) return begun;
    const { run, key, nodeId } = event;
    const line = replay.of(run);
    const recorded = line.branch(key, run);
    if (!recorded && !line.isTail) replay.diverge(run, nodeId, { what: "branches", actual: key });
    if (!recorded) {
      await replay.hold(replay.placeholder(line));
      return begun;
    }
    return { start: replay.starting(replay.nested(line, recorded), begun.start) };
  });
  pipeline.aroundAgentCall(async (event, next) => {
    const begun = await next(event);
    const line = replay.of(event.run);
    const recorded = line.agent(event.toolCallId);
    if ("output" in begun || !recorded) return begun;
    return { start: replay.starting(replay.nested(line, recorded), begun.start) };
  });
}

/** @throws IterationLimitError */
function assertIterations({ state }: AgentRun, nodeId: string, maxIterations: number): void {
  if (state.iteration >= maxIterations) throw new IterationLimitError(maxIterations, nodeId);
}

function ended(replay: ExactReplay, collected: TraceCollector, end: ReplayedEnd): ReplayResult {
  const divergence = replay.divergence ?? endDivergence(replay, end);
  if (divergence)
    return withTrace({ matches: false, divergence, status: "diverged" }, () =>
      collected.trace({ status: "in_progress" }),
    );
  const { status } = replay.recording.end;
  const result = { matches: true, status, ...("output" in end && { output: end.output }) };
  return withTrace(result, () => collected.trace({ ...end, status: status as RunTrace["status"] }));
}
