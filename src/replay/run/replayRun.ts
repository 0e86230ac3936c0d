import type { AIAgent } from "../../agent/AIAgent.ts";
import { z } from "zod";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { abortSignalSchema, nonEmptyString, objectWithMethods } from "../../internal/options/optionSchemas.ts";
import { assertAgentId } from "../../internal/options/assertAgentId.ts";
import { logStorageOf } from "../../storage/checkpoints/CheckpointRecordLog.ts";
import { type PersistenceStorageProvider, providerSchema } from "../../storage/PersistenceStorageProvider.ts";
import { readRecording, recordingOf } from "../recording/readRecording.ts";
import { type Candidate, candidateShape, isCandidate, CounterfactualReplay } from "./CounterfactualReplay.ts";
import { replayRecording, type ReplayResult, freshStart } from "./replayRecording.ts";
import { linePath } from "../../checkpoint/data/linePath.ts";
import { isSinceVisit, type Visit } from "../../checkpoint/records/Visit.ts";
import { visitAt } from "../../checkpoint/state/AgentState.ts";
import { type LineAt, linesAt } from "../../checkpoint/moment/linesAt.ts";
import type { CheckpointPoint } from "../../checkpoint/records/lineRecords.ts";
import { NotSupportedError } from "../../errors/storageErrors.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import { lanesToHead } from "../recording/LineReader.ts";
import { LineResults } from "../recording/LineResults.ts";
import { readStart, type LinePosition } from "../recording/readStart.ts";
import { optionalPoint } from "../trace/runPath.ts";
import { joinedResults, type RecordedResults, allResults, ResultPool } from "../results/ResultPool.ts";
import type { AgentDefinition } from "../../agent/feature/AgentDefinition.ts";
import { executeRun } from "../../agent/run/executeRun.ts";
import { platformSha256 } from "../../internal/sha256/platformSha256.ts";
import type { Recording } from "../recording/Recording.ts";
import { definitionOf, ReplayDefinitions } from "./replayDefinition.ts";
import { ReplayedPersistence } from "./ReplayedPersistence.ts";
import { sameValue } from "../results/Divergence.ts";
import { TraceCollector } from "./TraceCollector.ts";

/** Options of {@link replayRun}. */
export interface ReplayRunOptions extends Candidate {
  /** The storage with the recorded run, which the replay only reads. */
  readonly storage: PersistenceStorageProvider;
  readonly agentId: string;
  /** Defaults to the run of the checkpoint `from`, or to the newest run of the agent. */
  readonly runId?: string | undefined;
  /** Stops the replay with the signal's reason. Defaults to no signal. */
  readonly signal?: AbortSignal | undefined;
}

export const replayedAgentSchema = objectWithMethods<AIAgent<never, unknown>>("run", "asTool");

const optionsSchema = strictOptions(() => ({
  storage: providerSchema,
  agentId: z.unknown(),
  runId: nonEmptyString.optional(),
  signal: abortSignalSchema.optional(),
  ...candidateShape(),
}));

/**
 * Runs a stored run again in memory with its recorded model responses, tool outcomes and answers. Calls no model and no
 * tool, and does not write. With a {@link Candidate}, changed code, another model or another prompt runs with the
 * recorded results that fit.
 *
 * @throws InvalidInputError if an argument is invalid, or if the run does not contain the checkpoint `from`.
 * @throws RunNotFoundError if the storage does not contain the run.
 * @throws RecordingPrunedError if the log of the run was pruned.
 * @throws CheckpointNotFoundError if the agent has no checkpoint `from`.
 * @throws NotSupportedError for a three-method storage.
 *
 * @example
 * ```ts
 * const { matches, divergence } = await replayRun(agent, { storage, agentId: "team-7" });
 * ```
 */
export async function replayRun(agent: AIAgent<never, unknown>, options: ReplayRunOptions): Promise<ReplayResult> {
  checkSchema(replayedAgentSchema, agent, "agent of replayRun()");
  checkSchema(optionsSchema, options, "options of replayRun()");
  const { storage, agentId, runId, signal, ...candidate } = options;
  assertAgentId(agentId);
  const { log } = logStorageOf(storage);
  if (!isCandidate(candidate)) return replayRecording(agent, await readRecording(log, agentId, runId), { signal });
  return replayCandidate(
    agent,
    await readCandidateStart(log, { agentId, runId, from: candidate.from }),
    candidate,
    signal,
  );
}

/** Reads the start of a counterfactual replay. @throws RunNotFoundError, RecordingPrunedError, NotSupportedError */
async function readCandidateStart(
  log: RecordLog,
  { agentId, runId, from }: Pick<ReplayRunOptions, "agentId" | "runId" | "from">,
): Promise<CandidateStart> {
  if (log.capabilities.keeps !== undefined) throw new NotSupportedError("replayRun()", "a log of model responses");
  const stored = await AgentLog.read(log, agentId);
  const point = optionalPoint(stored, ["from", from], runId);
  const recording = recordingOf(stored, runId ?? point?.runId);
  if (!point) return { recording };
  const { lines } = linesAt(stored.index, point);
  return {
    recording,
    results: resultsAfter(stored, recording.runId, point, lines),
    positions: readStart(stored, lines),
  };
}

/**
 * Returns the results of all lines of a run after a point, even of abandoned lines. An open line repeats the visit at
 * its start, so the results of this visit count, even results from before the point.
 */
function resultsAfter(
  log: AgentLog,
  runId: string,
  { order }: CheckpointPoint,
  open: readonly LineAt[],
): RecordedResults {
  const { index } = log;
  const starts = new Map(open.map((line) => [line.lane, line]));
  const lines = [...index.laneRecords].flatMap(([lane, records]) => {
    if (index.lanes.get(lane)?.runId !== runId) return [];
    const { point } = starts.get(lane) ?? {};
    const after = starts.has(lane) ? (point?.order ?? -1) : order;
    const own = new Set(records.flatMap((each) => (each.order > after ? each.order : [])));
    if (own.size === 0 && !point) return [];
    const isOwn = (result: { readonly order: number; readonly visit: Visit }) =>
      own.has(result.order) || (point !== undefined && isSinceVisit(result.visit, visitAt(point)));
    const { answers, calls, requests } = resultsOf(log, lane);
    const path = linePath(index, lane);
    return [{ answers: answers.filter(isOwn), calls: calls.filter(isOwn), requests: requests.filter(isOwn), path }];
  });
  return joinedResults(lines);
}

/** Returns the results of a lane and of earlier lanes, whose responses contain inputs of later calls. */
function resultsOf(log: AgentLog, lane: number): ReturnType<LineResults["read"]> {
  const results = new LineResults(log);
  for (const span of lanesToHead(log.index, { lane, upTo: Infinity }))
    for (const each of log.index.laneRecords.get(span.lane) ?? [])
      if (each.order <= span.upTo) results.add(each.record, each.order);
  return results.read();
}

/** A recorded run, and the point at which its replay starts. */
interface CandidateStart {
  readonly recording: Recording;
  /** The results that count. Defaults to all results of the recording. */
  readonly results?: RecordedResults | undefined;
  /** The positions of the lines that do not start from their beginning. Defaults to none. */
  readonly positions?: readonly LinePosition[] | undefined;
}

/** Runs an agent from a recorded point with changed parts and the results that fit. @param signal Stops the replay. */
async function replayCandidate(
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
