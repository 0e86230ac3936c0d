import { z } from "zod";
import { customSchema, nonEmptyString, integerFrom, objectWithMethods } from "../internal/options/optionSchemas.ts";
import { strictOptions } from "../internal/options/strictOptions.ts";
import type { PromptExecutor } from "./model/PromptExecutor.ts";
import type { Strategy } from "./strategy/Strategy.ts";
import { isStrategy } from "./strategy/GraphPlan.ts";
import { toolSchema, type AnyTool } from "./tool/Tool.ts";

/** The configuration of an agent. */
export interface AIAgentConfig<Input, Output> {
  /** The `agentId` of runs that are given none. Default: "agent", in every process. */
  readonly id?: string | undefined;
  /** Calls the model: `aiSdkExecutor(…)`, `scriptedModel(…)` in tests, or your own. */
  readonly promptExecutor: PromptExecutor;
  /** Passed to the executor. A node may change it for its run. */
  readonly llmModel: string;
  /** Passed to the executor, such as a temperature. Default: the provider's defaults. */
  readonly modelParameters?: Readonly<Record<string, unknown>> | undefined;
  /** The first message of each fresh history. Default: none. */
  readonly systemPrompt?: string | undefined;
  /** Default: call the model and run its tool calls until it makes none, with the nodes `callModel` and `callTools`. */
  readonly strategy?: Strategy<Input, Output> | undefined;
  /** Offered to the model unless a node configures others. Default: none. */
  readonly tools?: readonly AnyTool[] | undefined;
  /** How many nodes a run may visit; `Infinity` for no limit. Default: 50. */
  readonly maxIterations?: number | undefined;
}

export const agentConfigSchema: z.ZodType = strictOptions({
  // Validated by assertAgentId.
  id: z.unknown().optional(),
  promptExecutor: objectWithMethods<PromptExecutor>("execute"),
  llmModel: nonEmptyString,
  modelParameters: z.record(z.string(), z.unknown()).optional(),
  systemPrompt: z.string().optional(),
  strategy: customSchema("what strategy(…) returned", isStrategy).optional(),
  tools: z.array(toolSchema).optional(),
  maxIterations: integerFrom(1).optional(),
});
