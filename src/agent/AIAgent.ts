import { DuplicateNameError } from "../errors/agent/DuplicateNameError.ts";
import { FeatureNotInstalledError } from "../errors/agent/FeatureNotInstalledError.ts";
import { frozenCopy } from "../internal/copy/frozenCopy.ts";
import { assertAgentId } from "../internal/options/assertAgentId.ts";
import { checkSchema } from "../internal/options/checkSchema.ts";
import {
  customSchema,
  functionSchema,
  integerFrom,
  nonEmptyString,
  numberFrom,
  objectWithMethods,
} from "../internal/options/optionSchemas.ts";
import { strictOptions } from "../internal/options/strictOptions.ts";
import type { FeatureKey } from "./context/AgentContext.ts";
import { defaultStrategy } from "./defaultStrategy.ts";
import type { AgentDefinition } from "./feature/AgentDefinition.ts";
import type { AgentFeature, ClaimableOption } from "./feature/FeaturePipeline.ts";
import { Pipeline } from "./feature/Pipeline.ts";
import {
  type ResumeOptions,
  resumeOptionsSchema,
  type RunOptions,
  runOptionsSchema,
  type RunRequest,
} from "./feature/RunRequest.ts";
import { registerSubAgent } from "./feature/SubAgent.ts";
import type { RunResult } from "./feature/RunResult.ts";
import { fullModelRetry, type ModelRetry, modelRetrySchema } from "./model/ModelRetry.ts";
import type { PromptExecutor } from "./model/PromptExecutor.ts";
import { executeRun } from "./run/executeRun.ts";
import { isStrategy } from "./strategy/GraphPlan.ts";
import type { Strategy } from "./strategy/Strategy.ts";
import { StrategyGraph } from "./strategy/StrategyGraph.ts";
import { type AnyTool, tool, type Tool, toolSchema } from "./tool/Tool.ts";
import { z } from "zod";

/**
 * An agent: a model, its tools, and the strategy that decides what runs next. One object serves any number of concurrent
 * runs, each with its own `agentId`; they share no mutable state.
 */
export class AIAgent<in Input = string, out Output = string> implements AsyncDisposable {
  readonly #definition: AgentDefinition;
  readonly #features = new Map<
    string,
    { readonly feature: AgentFeature<never, unknown>; readonly instance: unknown }
  >();
  #hasRun = false;

  /** @throws InvalidInputError for wrong or unknown options, InvalidAgentIdError, DuplicateNameError for two tools of one name. */
  constructor(config: AIAgentConfig<Input, Output>) {
    this.#definition = defineAgent(config, (feature) => this.feature(feature));
  }

  /**
   * Adds a feature. Features wrap each other in install order, the first outermost.
   *
   * @param config optional if the feature requires no option.
   * @throws DuplicateNameError if a feature of this key is installed; InvalidInputError for a wrong option of the feature.
   */
  install<Config, Instance>(
    feature: AgentFeature<Config, Instance>,
    ...config: Record<never, never> extends NoInfer<Config> ? [config?: NoInfer<Config>] : [config: NoInfer<Config>]
  ): this {
    checkSchema(featureSchema, feature, "feature to install");
    if (this.#hasRun)
      throw new TypeError(
        `The feature "${feature.key}" was installed after a run began. Install features before the first run.`,
      );
    if (this.#features.has(feature.key)) throw new DuplicateNameError("duplicate_feature", feature.key);
    // Absent only where its type allows an empty configuration.
    const [given = {} as Config] = config;
    this.#features.set(feature.key, { feature, instance: feature.install(this.#definition.pipeline.hooks, given) });
    return this;
  }

  /** The instance of an installed feature. @throws FeatureNotInstalledError if it is not installed. */
  feature<Instance>(feature: FeatureKey<Instance>): Instance {
    checkSchema(featureSchema, feature, "feature");
    const installed = this.#features.get(feature.key);
    if (installed?.feature !== feature) throw new FeatureNotInstalledError(feature.key);
    // This feature returned this instance.
    return installed.instance as Instance;
  }

  /**
   * Runs the strategy. Rejects with the error of a failed run, or with the reason of an aborted signal.
   *
   * @throws InvalidInputError for a wrong option, or if the strategy's schema refuses the input, before anything happens.
   * @throws FeatureNotInstalledError for an option that needs a feature which is not installed.
   */
  async run(input: Input, options: RunOptions = {}): Promise<RunResult<Output>> {
    checkSchema(runOptionsSchema, options, "options of run()");
    for (const option of ["runId", "history", "unfinished", "whenBusy"] as const) {
      if (options[option] !== undefined) this.#needClaimed(option, `The option "${option}"`);
    }
    const { graph } = this.#definition;
    const checked = frozenCopy(checkSchema(graph.root.input, input, `input of strategy "${graph.name}"`));
    return this.#request("run", options, { input: checked });
  }

  /**
   * Continues an earlier run that was interrupted, failed, or waits.
   *
   * @throws FeatureNotInstalledError without a feature that stores runs; InvalidInputError for a wrong option.
   */
  async resume(options: ResumeOptions = {}): Promise<RunResult<Output>> {
    checkSchema(resumeOptionsSchema, options, "options of resume()");
    this.#needClaimed("resume", "resume()");
    return this.#request("resume", options, {});
  }

  /**
   * This agent as a tool of another one, which calls it from its model or from its code. A call runs the strategy of this
   * agent, with its own history, stored values, tools, model and limits. With Persistence installed in both, it is durable in
   * the log of the caller: after a crash it goes on where it was, and a rollback takes back what it did. The storage, the clock
   * and the rollback participants are those of the caller.
   *
   * @param options `inputSchema`: of the call, as the model sees it. `input`: the input of this agent, from that of the call.
   * @throws InvalidInputError for a wrong or unknown option.
   */
  asTool<Schema extends z.ZodType>(options: {
    readonly name: string;
    readonly description: string;
    readonly inputSchema: Schema;
    readonly input: (input: z.output<Schema>) => Input;
    readonly needsApproval?: Tool<never, unknown, z.output<Schema>>["needsApproval"];
  }): Tool<z.input<Schema>, Output, z.output<Schema>> {
    checkSchema(asToolSchema, options, "options of asTool()");
    const { input, ...definition } = options;
    const { graph } = this.#definition;
    const called = tool<Schema, Output>({
      ...definition,
      // The effects are those of its own calls, and a call that was interrupted goes on.
      effect: "none",
      execute: () => {
        throw new TypeError(
          `Tool "${options.name}" is an agent: call it through context.tools, or let a model call it.`,
        );
      },
    });
    registerSubAgent(called, {
      definition: this.#definition,
      inputOf: (given) =>
        // The schema of the tool has returned it.
        frozenCopy(
          checkSchema(graph.root.input, input(given as z.output<Schema>), `input of strategy "${graph.name}"`),
        ),
    });
    return called;
  }

  /** Disposes the features, in reverse install order. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const { instance } of [...this.#features.values()].reverse()) {
      if (isAsyncDisposable(instance)) await instance[Symbol.asyncDispose]();
    }
  }

  #needClaimed(option: ClaimableOption, neededBy: string): void {
    if (!this.#definition.pipeline.claims(option)) throw new FeatureNotInstalledError("Persistence", neededBy);
  }

  async #request(
    kind: RunRequest["kind"],
    options: RunOptions | ResumeOptions,
    input: Pick<RunRequest, "input">,
  ): Promise<RunResult<Output>> {
    const { pipeline } = this.#definition;
    const { agentId = pipeline.hooks.agentId } = options;
    assertAgentId(agentId);
    options.signal?.throwIfAborted();
    this.#hasRun = true;
    const request: RunRequest = { kind, agentId, options, ...input };
    const result = await pipeline.around("run", request, (accepted) => executeRun(this.#definition, accepted));
    // This agent was constructed with the strategy that returned the output.
    return result as RunResult<Output>;
  }
}

const asToolSchema = strictOptions({
  name: z.unknown(),
  description: z.unknown(),
  inputSchema: z.unknown(),
  input: functionSchema(),
  needsApproval: z.unknown().optional(),
});

const featureSchema = z.object({ key: nonEmptyString, install: functionSchema() });

function isAsyncDisposable(value: unknown): value is AsyncDisposable {
  return typeof value === "object" && value !== null && Symbol.asyncDispose in value;
}

/** The same in every process, so that a run without an `agentId` is found again by the next one without it. */
const defaultAgentId = "agent";
const defaultMaxIterations = 50;
/** As long as the clients of large providers wait: only a provider that hangs takes longer. */
const defaultModelTimeoutMs = 600_000;

/** Validates a configuration and compiles it. */
function defineAgent<Input, Output>(
  config: AIAgentConfig<Input, Output>,
  feature: AgentDefinition["feature"],
): AgentDefinition {
  checkSchema(agentConfigSchema, config, "configuration of the agent");
  const graph = new StrategyGraph(config.strategy ?? defaultStrategy);
  const tools = toolsByName(config.tools ?? []);
  const { id: agentId = defaultAgentId, maxIterations = defaultMaxIterations } = config;
  assertAgentId(agentId);
  const identity = JSON.stringify([graph.name, config.systemPrompt ?? "", [...tools.keys()].toSorted()]);
  return {
    graph,
    tools,
    pipeline: new Pipeline({ agentId, hasDefaultId: config.id === undefined, identity, graph, tools }),
    promptExecutor: config.promptExecutor,
    settings: frozenCopy({
      model: config.llmModel,
      ...(config.modelParameters && { parameters: config.modelParameters }),
      tools: [...tools.keys()],
    }),
    ...(config.systemPrompt !== undefined && { systemPrompt: config.systemPrompt }),
    maxIterations,
    modelLimits: {
      retry: fullModelRetry(config.modelRetry),
      timeoutMs: config.modelTimeoutMs ?? defaultModelTimeoutMs,
      acceptCutAnswers: config.acceptCutAnswers ?? false,
      maxToolCallsPerAnswer: config.maxToolCallsPerAnswer ?? 1_000,
    },
    toolTimeoutMs: config.toolTimeoutMs ?? Number.POSITIVE_INFINITY,
    feature,
  };
}

function toolsByName(tools: readonly AnyTool[]): ReadonlyMap<string, AnyTool> {
  const byName = new Map<string, AnyTool>();
  for (const tool of tools) {
    if (byName.has(tool.name)) throw new DuplicateNameError("duplicate_tool", tool.name);
    byName.set(tool.name, tool);
  }
  return byName;
}

/** The configuration of an agent. */
export interface AIAgentConfig<Input, Output> {
  /**
   * The `agentId` of runs that are given none. Default: "agent", in every process. Definitions that share a storage need
   * ids of their own: a second one that would use the default is refused with DefaultIdSharedError.
   */
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
  /** Makes failed model requests again, with growing delays; `false`: never. Default: up to twice. */
  readonly modelRetry?: ModelRetry | false | undefined;
  /**
   * How long one try of a model request may take, in milliseconds; then it is aborted and fails with ModelTimeoutError.
   * `Infinity` for no limit. Default 600,000: ten minutes.
   */
  readonly modelTimeoutMs?: number | undefined;
  /** How long a call may take of a tool without a `timeoutMs` of its own, in milliseconds; see there. Default: no limit. */
  readonly toolTimeoutMs?: number | undefined;
  /**
   * True: an answer that was cut off at its length, with the finish reason `length`, counts like any other. Default false:
   * it is refused with ModelAnswerCutError, so that no run completes with half an answer.
   */
  readonly acceptCutAnswers?: boolean | undefined;
  /** An answer with more tool calls is refused with UnusableModelAnswerError. `Infinity` for no limit. Default: 1,000. */
  readonly maxToolCallsPerAnswer?: number | undefined;
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
  modelRetry: modelRetrySchema.optional(),
  modelTimeoutMs: numberFrom(0).optional(),
  toolTimeoutMs: numberFrom(0).optional(),
  acceptCutAnswers: z.boolean().optional(),
  maxToolCallsPerAnswer: integerFrom(1).optional(),
  maxIterations: integerFrom(1).optional(),
});
