import { z } from "zod";
import { customSchema, nonEmptyString, integerFrom, objectWithMethods } from "../internal/options/optionSchemas.ts";
import { strictOptions } from "../internal/options/strictOptions.ts";
import type { PromptExecutor } from "./model/PromptExecutor.ts";
import type { Strategy } from "./strategy/Strategy.ts";
import { isStrategy } from "./strategy/StrategyPlans.ts";
import { toolSchema, type AnyTool } from "./tool/Tool.ts";

/** What an agent is made of. */
export interface AIAgentConfig<Input, Output> {
  /** The durable identity of runs that name none; default "agent", in every process. */
  readonly id?: string | undefined;
  /** Asks the model: `aiSdkExecutor(…)`, `scriptedModel(…)` in tests, or one of your own. */
  readonly promptExecutor: PromptExecutor;
  /** Handed to the executor; a node may change it for its run. */
  readonly llmModel: string;
  /** Handed to the executor, such as a temperature; default: the provider's own. */
  readonly modelParameters?: Readonly<Record<string, unknown>> | undefined;
  /** The first message of each fresh history; default: none. */
  readonly systemPrompt?: string | undefined;
  /** Default: ask the model, run its tools, until it asks for none; nodes `callModel` and `callTools`. */
  readonly strategy?: Strategy<Input, Output> | undefined;
  /** Offered to the model, unless a node configures fewer; default: none. */
  readonly tools?: readonly AnyTool[] | undefined;
  /** How many nodes a run may visit, `Infinity` for any number; default 50. */
  readonly maxIterations?: number | undefined;
}

export const agentConfigSchema: z.ZodType = strictOptions({
  // Judged by assertAgentId.
  id: z.unknown().optional(),
  promptExecutor: objectWithMethods<PromptExecutor>("execute"),
  llmModel: nonEmptyString,
  modelParameters: z.record(z.string(), z.unknown()).optional(),
  systemPrompt: z.string().optional(),
  strategy: customSchema("what strategy(…) returned", isStrategy).optional(),
  tools: z.array(toolSchema).optional(),
  maxIterations: integerFrom(1).optional(),
});
