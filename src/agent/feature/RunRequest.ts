import type { ModelUsage } from "../../checkpoint/status/ModelUsage.ts";
import { TaskStatus } from "../../checkpoint/status/TaskStatus.ts";
import type { RunLine } from "../../checkpoint/toolCallId.ts";
import { abortSignalSchema, functionSchema, nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import type { BranchResult } from "./BranchResult.ts";
import type { OnDelta } from "./RunDelta.ts";
import type { RunStateSeed } from "../state/RunState.ts";
import { z } from "zod";

/**
 * What a call of `run` does while another run of its agent is in progress, in this process or in another one.
 *
 * - `"reject"`: rejects with AgentBusyError.
 * - `"queue"`: waits until that run ends, and then runs. Calls of one process run in the order in which they were made. A
 *   call that waits is not stored yet.
 * - `"join"`: returns the result of that run. The input of this call is not used, and not stored.
 * - `"replace"`: stops that run and takes its place. The stopped run rejects with StopRequestedError and ends as
 *   `cancelled`; its effects remain. A process that does not respond is waited for until its lease expires.
 */
export type WhenBusy = "reject" | "queue" | "join" | "replace";

/** Options of `run()`. `runId`, `history`, `unfinished` and `whenBusy` require Persistence, or another feature that implements them. */
export interface RunOptions {
  /** The durable identity. Default: the agent's own id. */
  readonly agentId?: string | undefined;
  /**
   * Identifies the run. If it names an unfinished run, that run is resumed; if it names a finished one, its recorded
   * output is returned and nothing runs; if it names one that this process is running, the call gets that run's result.
   * With another input than that run's, the call is refused with RunInputDiffersError. Default: resumes an unfinished run of equal input, or begins a new run.
   */
  readonly runId?: string | undefined;
  /** Aborting it rejects the run with its reason, also in the last node. An abort after the last node has no effect. */
  readonly signal?: AbortSignal | undefined;
  /** Gets the answers of the model as they come; see {@link RunDelta}. Default: they are not streamed. */
  readonly onDelta?: OnDelta | undefined;
  /** Whether a new run keeps the messages of the last one. Default: "fresh", without them. */
  readonly history?: "fresh" | "continue" | undefined;
  /**
   * What to do with another run that is unfinished: finish it first, or end it as cancelled without reverting its
   * effects. Default: reject with UnfinishedRunError. The same run, by its `runId` or by its input, is resumed instead; if it
   * cannot be because its strategy has changed, "abandon" begins it anew.
   */
  readonly unfinished?: "finish_first" | "abandon" | undefined;
  /**
   * What to do while another run is in progress. `unfinished` decides about a run that has stopped without an end. Default:
   * "reject".
   */
  readonly whenBusy?: WhenBusy | undefined;
  /** Runs an agent that was imported as a copy, though the original may run, too. Default false. */
  readonly takeOver?: boolean | undefined;
}

/** Options of `resume()`. */
export interface ResumeOptions {
  /** The durable identity. Default: the agent's own id. */
  readonly agentId?: string | undefined;
  /** The checkpoint to resume from. An older one begins a branch and reverts nothing. Default: the latest. */
  readonly checkpointId?: string | undefined;
  /** Answers by request id, given before anything runs. If one is refused, none is given. */
  readonly answers?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Resumes only if the agent still has one of these statuses, such as the one in a list that you read before. Otherwise
   * rejects with StatusChangedError. Default: any status.
   */
  readonly ifStatus?: readonly TaskStatus[] | undefined;
  /** The model for the rest of the run. Default: the one that the checkpoint names. */
  readonly llmModel?: string | undefined;
  /**
   * The model parameters for the rest of the run, such as a higher `maxOutputTokens` after an answer that was cut off. They
   * replace those of the checkpoint, which is the default.
   */
  readonly modelParameters?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Verifies the output before the run is recorded as completed. Its return value is stored with the status. If it
   * rejects, the run rejects, and a resume repeats the last node. Default: no verification.
   */
  readonly verify?: ((output: unknown) => readonly unknown[] | PromiseLike<readonly unknown[]>) | undefined;
  /** Aborting it rejects the run with its reason, also in the last node. An abort after the last node has no effect. */
  readonly signal?: AbortSignal | undefined;
  /** Gets the answers of the model as they come; see {@link RunDelta}. Default: they are not streamed. */
  readonly onDelta?: OnDelta | undefined;
  /** Runs an agent that was imported as a copy, though the original may run, too. Default false. */
  readonly takeOver?: boolean | undefined;
}

/** Validated by assertAgentId. */
const agentId = z.unknown().optional();

export const whenBusySchema = z.enum(["reject", "queue", "join", "replace"] satisfies WhenBusy[]);

export const runOptionsSchema: z.ZodType = strictOptions({
  agentId,
  runId: nonEmptyString.optional(),
  signal: abortSignalSchema.optional(),
  onDelta: functionSchema<OnDelta>().optional(),
  history: z.enum(["fresh", "continue"]).optional(),
  unfinished: z.enum(["finish_first", "abandon"]).optional(),
  whenBusy: whenBusySchema.optional(),
  takeOver: z.boolean().optional(),
});

export const resumeOptionsSchema: z.ZodType = strictOptions({
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
}).refine(({ checkpointId, answers }) => checkpointId === undefined || answers === undefined, {
  path: ["checkpointId"],
  error: "answers go with the latest state, so expected none beside a checkpointId",
});

/** The event of `aroundRun`. */
export interface RunRequest {
  /** The call that was made. */
  readonly kind: "run" | "resume";
  /** The `agentId` of the options, or else the agent's own id. */
  readonly agentId: string;
  /** Validated by the strategy's schema. Absent on a resume. */
  readonly input?: unknown;
  /** `RunOptions` of a run, `ResumeOptions` of a resume. */
  readonly options: RunOptions | ResumeOptions;
  /** Where to begin; set by a feature. Absent: at the start of the strategy, with `input`. */
  readonly start?: RunStart;
}

/** Where a run begins, or continues after a move, and with which state. */
export interface RunStart {
  /** A node path; "start" to evaluate the start edges with `input`; "finish" if `input` is the output of the strategy. */
  readonly nodeId: string;
  readonly input: unknown;
  /** `input` is the output of `nodeId`: its edges are evaluated, and the node does not run again. */
  readonly unresolved?: true;
  readonly state: RunStateSeed;
  /** `nodeId` is a parallel node whose branches have ended: what they left, in their order. Absent: they have to run. */
  readonly joined?: ReadonlyMap<string, BranchResult>;
  /** Ids of tool calls are derived from it. */
  readonly line: RunLine;
  /** The owner's fencing token, passed to tools. */
  readonly generation: number;
  /** Where the first visit is numbered from, such as the position of a checkpoint. */
  readonly visitBase: number;
  /** The number of visits already made since `visitBase`. */
  readonly visitOrdinal: number;
  readonly runId: string;
  /** The tokens that the run used before. A move does not change them. Absent: none, or unknown. */
  readonly usage?: ModelUsage;
  /** Whether an earlier call, perhaps of another line, is recorded here and keeps its id. Absent: no call is. */
  readonly isRecordedCall?: (toolCallId: string) => boolean;
  /**
   * Where the visits from `visitBase` on may have made such calls before: on other lines, perhaps of other agents, and what
   * these visits were numbered from there. Absent: only on `line`.
   */
  readonly recordedOn?: readonly { readonly line: RunLine; readonly visitBase: number }[];
  /** Whether a call that a message asks for was refused here, perhaps on another line, and keeps its id. Absent: none was. */
  readonly isRefusedCall?: (toolCallId: string) => boolean;
}
