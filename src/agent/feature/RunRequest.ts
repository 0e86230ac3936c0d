import { z } from "zod";
import type { RunLine } from "../../checkpoint/ids/toolCallId.ts";
import type { AssistantMessage } from "../../checkpoint/messages/Message.ts";
import type { NumberedMessage } from "../../checkpoint/messages/MessageHistory.ts";
import type { ModelUsage } from "../../checkpoint/tokenUsage/ModelUsage.ts";
import { TaskStatus } from "../../checkpoint/status/TaskStatus.ts";
import { abortSignalSchema, functionSchema, nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/checkSchema.ts";
import type { Decision } from "../context/AgentContext.ts";
import type { ModelDelta } from "../model/PromptExecutor.ts";
import type { RunStateSeed, RecordedRequirements, RunSettings } from "../state/RunState.ts";

/**
 * The behavior of `run` while another run of the agent is in progress, in this process or another one. If another
 * operation owns the agent, such as a rollback, `"reject"` rejects, and the other values wait. An interrupted run
 * counts as in progress.
 *
 * - `"reject"`: rejects with AgentBusyError.
 * - `"queue"`: waits until that run has finished, then runs. Calls of one process run in call order. A queued call is
 *   not stored. A node or a tool that awaits a queued run of its own agent waits forever.
 * - `"join"`: returns the result of that run. The input of this call is neither used nor stored. If that run ends
 *   before this call finds it, this call runs with its own input, unless both have the same `runId`.
 * - `"replace"`: stops that run and starts this one. The stopped run rejects with StopRequestedError and ends as
 *   `cancelled`. Its effects remain. If the process of that run does not respond, the call waits until the lease of
 *   that process expires.
 */
export type WhenBusy = "reject" | "queue" | "join" | "replace";

/** Options of `run()`. `runId`, `history`, `unfinished` and `whenBusy` require a feature such as Persistence. */
export interface RunOptions {
  /** The durable identity. Defaults to the id of the agent. */
  readonly agentId?: string | undefined;
  /**
   * Identifies the run. An unfinished run with this id is resumed. For a finished run, the recorded output is returned.
   * If the run is in progress in this process, the call returns the result of that run. A different input is rejected
   * with RunInputDiffersError. Defaults to the unfinished run if its input is equal, otherwise to a new run.
   */
  readonly runId?: string | undefined;
  /** Aborting the signal rejects the run with its reason. An abort after the last node has no effect. */
  readonly signal?: AbortSignal | undefined;
  /** Receives model responses as they are streamed; see {@link RunDelta}. Without it, responses are not streamed. */
  readonly onDelta?: OnDelta | undefined;
  /** `"continue"` starts with the messages of the last run, `"fresh"` with a new history. Defaults to `"fresh"`. */
  readonly history?: "fresh" | "continue" | undefined;
  /**
   * What to do about another, unfinished run: finish it first, or end it as cancelled without reverting its effects.
   * Without this option, `run` rejects with UnfinishedRunError. An unfinished run with the given `runId`, or with an
   * equal input, is resumed. If the strategy has changed too much to resume it, `"abandon"` restarts it from the
   * beginning.
   */
  readonly unfinished?: "finish_first" | "abandon" | undefined;
  /** The reaction to a run in progress. The option `unfinished` is for interrupted runs. Defaults to `"reject"`. */
  readonly whenBusy?: WhenBusy | undefined;
  /** Runs an imported copy of an agent even if the original can still run. Defaults to `false`. */
  readonly takeOver?: boolean | undefined;
}

export interface ResumeOptions {
  /** The durable identity. Defaults to the id of the agent. */
  readonly agentId?: string | undefined;
  /** The checkpoint to resume from. An older one starts a branch and reverts no effects. Defaults to the latest. */
  readonly checkpointId?: string | undefined;
  /** Answers by request id, recorded before the run continues. If one answer is rejected, all are rejected. */
  readonly answers?: Readonly<Record<string, unknown>> | undefined;
  /** Resumes only an agent with one of these statuses. Otherwise throws StatusChangedError. Defaults to any status. */
  readonly ifStatus?: readonly TaskStatus[] | undefined;
  /** The model for the rest of the run. Defaults to the model of the checkpoint. */
  readonly llmModel?: string | undefined;
  /**
   * The model parameters for the rest of the run, such as a higher `maxOutputTokens` after a cut response. They replace
   * the parameters of the checkpoint. Defaults to the parameters of the checkpoint.
   */
  readonly modelParameters?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Verifies the output before the run is recorded as completed. The returned value is stored with the status. If the
   * function rejects, the run rejects, and a resume repeats the last node. Defaults to no verification.
   */
  readonly verify?: ((output: unknown) => readonly unknown[] | PromiseLike<readonly unknown[]>) | undefined;
  /** Aborting the signal rejects the run with its reason. An abort after the last node has no effect. */
  readonly signal?: AbortSignal | undefined;
  /** Receives model responses as they are streamed; see {@link RunDelta}. Without it, responses are not streamed. */
  readonly onDelta?: OnDelta | undefined;
  /** Runs an imported copy of an agent even if the original can still run. Defaults to `false`. */
  readonly takeOver?: boolean | undefined;
}

const agentId = z.unknown().optional();

export const whenBusySchema = z.enum(["reject", "queue", "join", "replace"] satisfies WhenBusy[]);

export const runOptionsSchema: z.ZodType = strictOptions(() => ({
  agentId,
  runId: nonEmptyString.optional(),
  signal: abortSignalSchema.optional(),
  onDelta: functionSchema<OnDelta>().optional(),
  history: z.enum(["fresh", "continue"]).optional(),
  unfinished: z.enum(["finish_first", "abandon"]).optional(),
  whenBusy: whenBusySchema.optional(),
  takeOver: z.boolean().optional(),
}));

export const resumeOptionsSchema: z.ZodType = strictOptions(() => ({
  agentId,
  checkpointId: nonEmptyString.optional(),
  answers: z.record(z.string(), z.unknown()).optional(),
  ifStatus: z.array(z.enum(TaskStatus)).optional(),
  llmModel: nonEmptyString.optional(),
  modelParameters: z.record(z.string(), z.unknown()).optional(),
  verify: functionSchema<ResumeOptions["verify"]>().optional(),
  signal: abortSignalSchema.optional(),
  onDelta: functionSchema<OnDelta>().optional(),
  takeOver: z.boolean().optional(),
})).refine(({ checkpointId, answers }) => checkpointId === undefined || answers === undefined, {
  path: ["checkpointId"],
  error: "answers apply to the latest state, so expected no answers together with a checkpointId",
});

/** The event of `aroundRun`. */
export interface RunRequest {
  readonly kind: "run" | "resume";
  /** The `agentId` of the options. Defaults to the id of the agent. */
  readonly agentId: string;
  /** The input after validation by the schema of the strategy. Missing on a resume. */
  readonly input?: unknown;
  readonly options: RunOptions | ResumeOptions;
  /** The start position, set by a feature. Defaults to the start of the strategy with `input`. */
  readonly start?: RunStart;
}

/** The position and state at which a run starts, or continues after a move. */
export interface RunStart {
  /** A node path. `"start"` evaluates the start edges with `input`. `"finish"` ends the run with output `input`. */
  readonly nodeId: string;
  readonly input: unknown;
  /** True if `input` is the output of `nodeId`. Only the edges of the node are then evaluated. */
  readonly unresolved?: true;
  readonly state: RunStateSeed;
  /** The results of the branches of a parallel node, in order. If omitted, the branches run. */
  readonly joined?: ReadonlyMap<string, BranchResult>;
  /** The lane from which tool-call ids are derived. */
  readonly line: RunLine;
  readonly generation: number;
  /** The position in the log from which node executions are numbered, such as the position of a checkpoint. */
  readonly visitBase: number;
  readonly visitOrdinal: number;
  readonly runId: string;
  /** The tokens that the run has used before this start. `undefined` if zero or unknown. A move ignores this field. */
  readonly usage?: ModelUsage;
  /** Returns whether a call with this id is recorded in the history of this start. A recorded call keeps its id. */
  readonly isRecordedCall?: (toolCallId: string) => boolean;
  /** Finds the recorded calls of a message for `isRecordedCall`. Returns `undefined` if all these calls are known. */
  readonly findCalls?: (message: AssistantMessage) => Promise<void> | undefined;
  /** Earlier lanes in which the current node made calls, each with its value of `visitBase`. Defaults to `line`. */
  readonly recordedOn?: readonly { readonly line: RunLine; readonly visitBase: number }[];
  /** Returns whether a call in a message was rejected by a person. A rejected call keeps its id. */
  readonly isRefusedCall?: (toolCallId: string) => boolean;
}

/** Returns the part of a start that depends only on the run and the lane. */
export function startOfLane(
  { agentId, runId, generation }: Omit<RunLine, "lane"> & Pick<RunStart, "generation">,
  lane: number,
) {
  return { line: { agentId, runId, lane }, generation, visitBase: -lane, visitOrdinal: 0, runId };
}

/**
 * A part of a model response. The response consists of the parts of one `requestId` since the last `restart`. An
 * executor that cannot stream sends a response as one part. A replay sends a recorded response as one part, with the
 * original `requestId`.
 */
export type RunDelta = (
  | ModelDelta
  | {
      /** The request failed and is retried. Discard all earlier parts of this `requestId`. */
      readonly type: "restart";
    }
) & {
  /** The node that makes the request, directly or through a tool. */
  readonly nodeId: string;
  /** The path of the branch that makes the request, such as `both#facts`. `undefined` outside branches. */
  readonly branch?: string;
  /** The tool names on the path to the sub-agent, outermost first. `undefined` for the agent of the run. */
  readonly agentPath?: readonly string[];
  /** Identifies the response within the run, even if several responses are streamed concurrently. */
  readonly requestId: string;
};

/** Called for each part, in order. The run does not wait for it. If it throws, it is not called again. */
export type OnDelta = (delta: RunDelta) => void;

export interface BranchResult {
  readonly output: unknown;
  readonly added: readonly NumberedMessage[];
  /** The whole history if the branch rewrote it. `undefined` if the branch only added the messages in `added`. */
  readonly history?: readonly NumberedMessage[];
  /** The changed storage keys. `undefined` marks a deleted key. */
  readonly storage: ReadonlyMap<string, { readonly value: unknown } | undefined>;
  readonly settings: RunSettings;
  readonly decisions: readonly Decision[];
  readonly requirements: RecordedRequirements;
  /** The number of nodes that the branch completed, including nested branches. */
  readonly iterations: number;
}
