import type { AIAgent } from "../../agent/AIAgent.ts";
import { z } from "zod";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { abortSignalSchema, nonEmptyString, objectWithMethods } from "../../internal/options/optionSchemas.ts";
import { assertAgentId } from "../../internal/options/assertAgentId.ts";
import { logStorageOf } from "../../storage/checkpoints/CheckpointRecordLog.ts";
import { type PersistenceStorageProvider, providerSchema } from "../../storage/PersistenceStorageProvider.ts";
import { readRecording } from "../recording/readRecording.ts";
import { type Candidate, candidateShape, isCandidate } from "./CounterfactualReplay.ts";
import { readCandidateStart } from "./readCandidateStart.ts";
import { replayCandidate } from "./replayCandidate.ts";
import { replayRecording, type ReplayResult } from "./replayRecording.ts";

/** Options of {@link replayRun}. */
export interface ReplayRunOptions extends Candidate {
  /** The storage with the recorded run. It is only read. */
  readonly storage: PersistenceStorageProvider;
  readonly agentId: string;
  /** Defaults to the run of the checkpoint `from`, or to the newest run of the agent. */
  readonly runId?: string | undefined;
  /** Stops the replay with the signal's reason. Defaults to no signal. */
  readonly signal?: AbortSignal | undefined;
}

/** Also accepts agents of another copy of the package. */
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
