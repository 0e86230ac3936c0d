import { executeRun } from "./run/executeRun.ts";
import { DuplicateNameError } from "../errors/strategyErrors.ts";
import { FeatureNotInstalledError } from "../errors/agentErrors.ts";
import { frozenCopy } from "../internal/frozenCopy.ts";
import { assertNewAgentId } from "../internal/options/assertAgentId.ts";
import { checkSchema, strictOptions } from "../internal/options/checkSchema.ts";
import {
  customSchema,
  functionSchema,
  integerFrom,
  nonEmptyString,
  numberFrom,
} from "../internal/options/optionSchemas.ts";
import type { FeatureKey } from "./context/AgentContext.ts";
import { agentAsTool } from "./agentAsTool/agentAsTool.ts";
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
import type { RunResult } from "./feature/RunResult.ts";
import { fullModelRetry, type ModelRetry, modelRetrySchema } from "./model/ModelRetry.ts";
import type { PromptExecutor } from "./model/PromptExecutor.ts";
import { isStrategy } from "./strategy/GraphPlan.ts";
import type { Strategy } from "./strategy/Strategy.ts";
import { defaultStrategy } from "./model/nodes.ts";
import { StrategyGraph } from "./strategy/StrategyGraph.ts";
import { type AnyTool, type Tool, toolSchema } from "./tool/Tool.ts";
import { z } from "zod";

/**
 * An agent with a model, tools and a strategy that decides which node runs next. One object serves any number of
 * concurrent runs, each with a different `agentId`. The runs share no mutable state.
 *
 * @example
 * ```ts
 * const agent = new AIAgent({ promptExecutor: aiSdkExecutor(openai), llmModel: "gpt-5-mini", tools: [signUp] });
 * agent.install(Persistence, { storage: new FilePersistenceStorageProvider() });
 * const result = await agent.run("Sign up Alex.", { agentId: "team-7", runId: "monday" });
 * ```
 */
export class AIAgent<in Input = string, out Output = string> implements AsyncDisposable {
  readonly #definition: AgentDefinition;
  readonly #features = new Map<
    string,
    { readonly feature: AgentFeature<never, unknown>; readonly instance: unknown }
  >();
  #hasRun = false;

  /** @throws InvalidInputError for wrong options, InvalidAgentIdError, DuplicateNameError for two tools of one name. */
  constructor(config: AIAgentConfig<Input, Output>) {
    this.#definition = defineAgent(config, (feature) => this.feature(feature));
  }

  /**
   * Adds a feature. Features wrap each other in install order. The first feature is the outermost.
   *
   * @param config Optional if the feature has no required option.
   * @throws DuplicateNameError if a feature with this key is installed.
   * @throws InvalidInputError for a wrong option of the feature.
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
    // An omitted config is treated as an empty config. The types allow it only if an empty config is valid.
    const [given = {} as Config] = config;
    this.#features.set(feature.key, { feature, instance: feature.install(this.#definition.pipeline.hooks, given) });
    return this;
  }

  /** Returns the instance of an installed feature. @throws FeatureNotInstalledError if the feature is not installed. */
  feature<Instance>(feature: FeatureKey<Instance>): Instance {
    checkSchema(featureSchema, feature, "feature");
    const installed = this.#features.get(feature.key);
    if (installed?.feature !== feature) throw new FeatureNotInstalledError(feature.key);
    return installed.instance as Instance;
  }

  /**
   * Runs the strategy. Rejects with the error of a failed run, or with the abort reason of the signal.
   *
   * @throws InvalidInputError for a wrong option or input, before the run starts.
   * @throws FeatureNotInstalledError if an option needs a feature that is not installed.
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
   * Continues an earlier run that was interrupted, failed, or is waiting for input.
   *
   * @throws FeatureNotInstalledError if no installed feature stores runs.
   * @throws InvalidInputError for a wrong option.
   */
  async resume(options: ResumeOptions = {}): Promise<RunResult<Output>> {
    checkSchema(resumeOptionsSchema, options, "options of resume()");
    this.#needClaimed("resume", "resume()");
    return this.#request("resume", options, {});
  }

  /**
   * Returns this agent as a tool that other agents can call from their model or from node code. A call runs the
   * strategy of this agent with a separate history, storage, tools, model and limits. If both agents install
   * Persistence, the call is recorded in the log of the caller: the called agent resumes after a crash, and a rollback
   * of the caller reverts its calls. The called agent uses the storage, the clock and the rollback participants of the
   * caller. At most 32 agents can run inside each other. A deeper call fails the run with InvalidStrategyError.
   *
   * @param options `inputSchema` is the schema of the call that the model sees. `input` maps the input of the call to
   * the input of this agent.
   * @throws InvalidInputError for a wrong or unknown option.
   */
  asTool<Schema extends z.core.$ZodType>(options: {
    readonly name: string;
    readonly description: string;
    readonly inputSchema: Schema;
    readonly input: (input: z.output<Schema>) => Input;
    readonly needsApproval?: Tool<never, unknown, z.output<Schema>>["needsApproval"];
  }): Tool<z.input<Schema>, Output, z.output<Schema>> {
    return agentAsTool(this.#definition, options);
  }

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
    assertNewAgentId(agentId);
    options.signal?.throwIfAborted();
    this.#hasRun = true;
    const request: RunRequest = { kind, agentId, options, ...input };
    const result = await pipeline.around("run", request, (accepted) => executeRun(this.#definition, accepted));
    return result as RunResult<Output>;
  }
}

const featureSchema = z.object({ key: nonEmptyString, install: functionSchema() });

function isAsyncDisposable(value: unknown): value is AsyncDisposable {
  return typeof value === "object" && value !== null && Symbol.asyncDispose in value;
}

/** Every process uses the same default id, so that a later process finds the run. */
const defaultAgentId = "agent";
const defaultMaxIterations = 50;
/** Equals the default timeout of the clients of large model providers. */
const defaultModelTimeoutMs = 600_000;

function defineAgent<Input, Output>(
  config: AIAgentConfig<Input, Output>,
  feature: AgentDefinition["feature"],
): AgentDefinition {
  checkSchema(agentConfigSchema, config, "configuration of the agent");
  const graph = new StrategyGraph(config.strategy ?? defaultStrategy());
  const tools = toolsByName(config.tools ?? []);
  const { id: agentId = defaultAgentId, maxIterations = defaultMaxIterations } = config;
  const { toolTimeoutMs = Infinity } = config;
  assertNewAgentId(agentId);
  const identity = JSON.stringify([graph.name, config.systemPrompt ?? "", [...tools.keys()].toSorted()]);
  return {
    graph,
    tools,
    pipeline: new Pipeline({ agentId, hasDefaultId: config.id === undefined, identity, graph, tools, toolTimeoutMs }),
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
    toolTimeoutMs,
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

export interface AIAgentConfig<Input, Output> {
  /**
   * The `agentId` of runs without the option `agentId`. Defaults to "agent". Agents that share a storage need different
   * ids. A second agent with the default id is rejected with DefaultIdSharedError.
   */
  readonly id?: string | undefined;
  /** Calls the model: `aiSdkExecutor(…)`, `scriptedModel(…)` in tests, or a custom executor. */
  readonly promptExecutor: PromptExecutor;
  /** The name of the model that is passed to the executor. A node can select another model for the rest of the run. */
  readonly llmModel: string;
  /** Model parameters, such as a temperature, that are passed to the executor. Defaults to the provider's defaults. */
  readonly modelParameters?: Readonly<Record<string, unknown>> | undefined;
  /** The first message of each new history. Defaults to no message. */
  readonly systemPrompt?: string | undefined;
  /** Defaults to a loop of `callModel` and `callTools` that ends when the model makes no tool call. */
  readonly strategy?: Strategy<Input, Output> | undefined;
  /** The tools that the model can call. A node can select other tools. Defaults to no tools. */
  readonly tools?: readonly AnyTool[] | undefined;
  /** How failed model requests are retried, with growing delays. `false` disables retries. Defaults to two retries. */
  readonly modelRetry?: ModelRetry | false | undefined;
  /**
   * The timeout of one attempt of a model request in milliseconds. An attempt that takes longer is aborted and fails
   * with ModelTimeoutError. `Infinity` for no limit. Defaults to 600,000 (ten minutes).
   */
  readonly modelTimeoutMs?: number | undefined;
  /** The timeout in milliseconds of calls to tools without a `timeoutMs`, and of inverses. Defaults to no limit. */
  readonly toolTimeoutMs?: number | undefined;
  /**
   * Accepts model responses that were cut off at their maximum length (finish reason `length`). Defaults to `false`: a
   * cut response is rejected with ModelAnswerCutError, so that no run completes with half a response.
   */
  readonly acceptCutAnswers?: boolean | undefined;
  /**
   * The maximum number of tool calls in one model response. A response with more calls is rejected with
   * UnusableModelAnswerError. `Infinity` for no limit. Defaults to 1,000.
   */
  readonly maxToolCallsPerAnswer?: number | undefined;
  /** The maximum number of node executions in a run. `Infinity` for no limit. Defaults to 50. */
  readonly maxIterations?: number | undefined;
}

const isExecutor = (value: unknown) => typeof (Object(value) as { readonly execute?: unknown }).execute === "function";

const agentConfigSchema: z.ZodType = strictOptions(() => ({
  id: z.unknown().optional(),
  promptExecutor: customSchema("an object with execute, such as aiSdkExecutor(…)", isExecutor),
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
}));
