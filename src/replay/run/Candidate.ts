import { z } from "zod";
import { functionSchema, nonEmptyString } from "../../internal/options/optionSchemas.ts";

/** A call without a recorded outcome. */
export interface UnrecordedCall {
  readonly toolName: string;
  readonly input: unknown;
  /** The path of the node. */
  readonly nodeId: string;
  /** The branch of the node. `undefined` outside branches. */
  readonly branch?: string;
  /** The tool names on the path to the sub-agent of the call. */
  readonly agentPath: readonly string[];
}

/** Returns the output of a call. If this function throws, the call fails with the error. */
export type CallSimulator = (call: UnrecordedCall) => unknown;

/** The changes that a counterfactual replay tries. Without a change, the recorded run is repeated exactly. */
export interface Candidate {
  /**
   * The id or name of the checkpoint at which the replay starts, on any line. Every other open line starts at its
   * newest earlier checkpoint. For each line, results from before its start do not count. Defaults to the start of the
   * run.
   */
  readonly from?: string | undefined;
  /** `"recorded"` returns recorded responses by node. `"live"` calls the model. Defaults to `"recorded"`. */
  readonly model?: "recorded" | "live" | undefined;
  /** The name of the model in live requests. Defaults to the model of the agent or of the checkpoint. */
  readonly llmModel?: string | undefined;
  /** Replaces the system prompt. Defaults to the prompt of the agent, or of the history at the checkpoint. */
  readonly systemPrompt?: string | undefined;
  /**
   * `"recorded"` returns the outcome of the recorded call with the same tool and an equal input. Each recorded call
   * counts once. A function simulates all calls. Defaults to `"recorded"`.
   */
  readonly tools?: "recorded" | CallSimulator | undefined;
  /**
   * The handling of a call without a recording. `"stop"` ends the replay. A function simulates the call. `"execute"`
   * runs tools with `effect: "none"`, and ends the replay at any other tool. Defaults to `"stop"`.
   */
  readonly onUnrecordedCall?: "stop" | "execute" | CallSimulator | undefined;
}

export function candidateShape() {
  return {
    from: nonEmptyString.optional(),
    model: z.enum(["recorded", "live"]).optional(),
    llmModel: nonEmptyString.optional(),
    systemPrompt: z.string().optional(),
    tools: z.union([z.literal("recorded"), functionSchema()]).optional(),
    onUnrecordedCall: z.union([z.enum(["stop", "execute"]), functionSchema()]).optional(),
  } satisfies Record<keyof Candidate, z.ZodType>;
}

export function isCandidate({ from, model, llmModel, systemPrompt, tools, onUnrecordedCall }: Candidate): boolean {
  return [from, model, llmModel, systemPrompt, tools, onUnrecordedCall].some((option) => option !== undefined);
}
