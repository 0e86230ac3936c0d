import { z } from "zod";
import { TaskStatus } from "../../checkpoint/status/TaskStatus.ts";
import { functionSchema, abortSignalSchema, nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import type { RunStart } from "./RunStart.ts";

/** How to run. Without a feature that claims them, `runId`, `history` and `unfinished` are refused with FeatureNotInstalledError. */
export interface RunOptions {
  /** The durable identity; default: the agent's own id. */
  readonly agentId?: string | undefined;
  /**
   * Names this run from its input to its end. Of an unfinished run: it is resumed; of a finished one: its recorded output
   * is returned and nothing runs. Default: an unfinished run of equal input is resumed, else a new run begins.
   */
  readonly runId?: string | undefined;
  /** Aborting it rejects the run with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Whether a new run on a finished agent keeps its messages; default "fresh". */
  readonly history?: "fresh" | "continue" | undefined;
  /**
   * What to do about an unfinished run that this is not: finish it first, or end it as cancelled, its effects standing.
   * Default: refuse with UnfinishedRunError.
   */
  readonly unfinished?: "finish_first" | "abandon" | undefined;
}

/** What to resume. */
export interface ResumeOptions {
  /** The durable identity; default: the agent's own id. */
  readonly agentId?: string | undefined;
  /** Where to resume: an older checkpoint begins a branch, and reverts nothing. Default: the latest. */
  readonly checkpointId?: string | undefined;
  /** Answers to requests, by request id: given before anything runs, all of them or, when one is refused, none. */
  readonly answers?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Resumes only if the agent has one of these statuses once it is owned, else rejects with StatusChangedError: for whoever
   * chose it from a list, which may be out of date. Default: any.
   */
  readonly ifStatus?: readonly TaskStatus[] | undefined;
  /**
   * Looks at the output before the end of the run is recorded; what it gives is kept in the data of its status. When it
   * rejects, so does the run, and resuming goes on from before its last node. Default: nothing is verified.
   */
  readonly verify?: ((output: unknown) => readonly unknown[] | PromiseLike<readonly unknown[]>) | undefined;
  /** Aborting it rejects the run with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Judged by assertAgentId. */
const agentId = z.unknown().optional();

export const runOptionsSchema: z.ZodType = strictOptions({
  agentId,
  runId: nonEmptyString.optional(),
  signal: abortSignalSchema.optional(),
  history: z.enum(["fresh", "continue"]).optional(),
  unfinished: z.enum(["finish_first", "abandon"]).optional(),
});

export const resumeOptionsSchema: z.ZodType = strictOptions({
  agentId,
  checkpointId: nonEmptyString.optional(),
  answers: z.record(z.string(), z.unknown()).optional(),
  ifStatus: z.array(z.enum(TaskStatus)).optional(),
  verify: functionSchema<ResumeOptions["verify"]>().optional(),
  signal: abortSignalSchema.optional(),
}).refine(({ checkpointId, answers }) => checkpointId === undefined || answers === undefined, {
  path: ["checkpointId"],
  error: "Invalid input: answers go with the latest state, so expected none beside a checkpointId",
});

/** What `aroundRun` sees. Handing it on executes it. */
export interface RunRequest {
  /** Which of the two calls it is. */
  readonly kind: "run" | "resume";
  /** The durable identity: the one in the options, else the agent's own. */
  readonly agentId: string;
  /** Checked against the strategy's schema. Absent on a resume. */
  readonly input?: unknown;
  /** As given: `RunOptions` of a run, `ResumeOptions` of a resume. */
  readonly options: RunOptions | ResumeOptions;
  /** Where to begin; set by a feature. Absent: at the start of the strategy, with `input`. */
  readonly start?: RunStart;
}
