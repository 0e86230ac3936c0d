import type { AIAgent } from "../../agent/AIAgent.ts";
import type { AgentDefinition } from "../../agent/feature/AgentDefinition.ts";
import { executeRun } from "../../agent/run/executeRun.ts";
import { platformSha256 } from "../../internal/sha256/platformSha256.ts";
import type { LinePosition } from "../recording/readStart.ts";
import type { Recording } from "../recording/Recording.ts";
import { CounterfactualReplay, type Candidate } from "./CounterfactualReplay.ts";
import { definitionOf, ReplayDefinitions } from "./replayDefinition.ts";
import { ReplayedPersistence } from "./ReplayedPersistence.ts";
import { type ReplayResult, freshStart } from "./replayRecording.ts";
import { allResults, type RecordedResults, ResultPool } from "../results/ResultPool.ts";
import { sameValue } from "../results/Divergence.ts";
import { TraceCollector } from "./TraceCollector.ts";

/** A recorded run, and the point at which its replay starts. */
export interface CandidateStart {
  readonly recording: Recording;
  /** The results that count. Defaults to all results of the recording. */
  readonly results?: RecordedResults | undefined;
  /** The positions of the lines that do not start from their beginning. Defaults to none. */
  readonly positions?: readonly LinePosition[] | undefined;
}

/** Runs an agent from a recorded point with changed parts and the results that fit. @param signal Stops the replay. */
export async function replayCandidate(
  agent: AIAgent<never, unknown>,
  { recording, results = allResults(recording.line), positions = [] }: CandidateStart,
  candidate: Candidate,
  signal?: AbortSignal,
): Promise<ReplayResult> {
  signal?.throwIfAborted();
  const replay = new CounterfactualReplay(
    candidate,
    { pool: new ResultPool(results), positions },
    await platformSha256(),
  );
  const trace = new TraceCollector(recording, (event) => replay.repeated.get(event));
  const definition = definitionOf(agent);
  const definitions: ReplayDefinitions = new ReplayDefinitions({
    install: (pipeline) => {
      trace.install(pipeline);
      replay.install(pipeline, definitions);
    },
    persistence: (context) => new ReplayedPersistence(context, replay),
    change: (each) => (each === definition ? changed(each, candidate) : {}),
  });
  const { agentId, runId, input } = recording;
  const signals = signal ? AbortSignal.any([signal, replay.signal]) : replay.signal;
  const start = replay.starting(freshStart(recording));
  const request = { kind: "run", agentId, input, options: { runId, signal: signals }, start } as const;
  try {
    const result = await executeRun(definitions.of(definition), request);
    if (result.status !== "completed") return { matches: false, status: result.status, trace: trace.trace(result) };
    const { output } = result;
    const matches = recording.end.status === "completed" && sameValue(output, recording.end.output);
    return { matches, status: "completed", output, trace: trace.trace({ status: "completed", output }) };
  } catch (error) {
    signal?.throwIfAborted();
    const { stopped } = replay;
    if (stopped)
      return { matches: false, status: "stopped", divergence: stopped, trace: trace.trace({ status: "in_progress" }) };
    return { matches: false, status: "failed", error, trace: trace.trace({ status: "failed", error }) };
  }
}

function changed(definition: AgentDefinition, { llmModel, systemPrompt }: Candidate): Partial<AgentDefinition> {
  return {
    ...(llmModel !== undefined && { settings: { ...definition.settings, model: llmModel } }),
    ...(systemPrompt !== undefined && { systemPrompt }),
  };
}
