import { z } from "zod";
import { DuplicateNameError } from "../errors/agent/DuplicateNameError.ts";
import { FeatureNotInstalledError } from "../errors/agent/FeatureNotInstalledError.ts";
import { assertAgentId } from "../internal/options/assertAgentId.ts";
import { checkSchema } from "../internal/options/checkSchema.ts";
import { frozenCopy } from "../internal/frozenCopy.ts";
import { functionSchema, nonEmptyString } from "../internal/options/optionSchemas.ts";
import type { AgentDefinition } from "./feature/AgentDefinition.ts";
import type { AgentFeature } from "./feature/AgentFeature.ts";
import type { FeatureKey } from "./context/FeatureKey.ts";
import type { AIAgentConfig } from "./AIAgentConfig.ts";
import { defineAgent } from "./defineAgent.ts";
import { executeRun } from "./run/executeRun.ts";
import type { ClaimableOption } from "./feature/FeaturePipeline.ts";
import {
  resumeOptionsSchema,
  runOptionsSchema,
  type ResumeOptions,
  type RunOptions,
  type RunRequest,
} from "./feature/RunRequest.ts";
import type { RunResult } from "./feature/RunResult.ts";

/**
 * An agent: a model, its tools, and the strategy that says what happens in which order. One object serves any number of
 * runs at the same time, each with its own `agentId`; they share nothing that changes.
 */
export class AIAgent<in Input = string, out Output = string> implements AsyncDisposable {
  readonly #definition: AgentDefinition;
  readonly #features = new Map<
    string,
    { readonly feature: AgentFeature<never, unknown>; readonly instance: unknown }
  >();
  #hasRun = false;

  /**
   * @throws InvalidInputError, which names the options; DuplicateNameError for two tools of one name.
   * @throws InvalidAgentIdError for an id that cannot name an agent.
   */
  constructor(config: AIAgentConfig<Input, Output>) {
    this.#definition = defineAgent(config, (feature) => this.feature(feature));
  }

  /**
   * Adds a feature. Features wrap each other in the order they are installed.
   *
   * @param config may be left out when the feature needs none.
   * @throws DuplicateNameError when the agent has one of this key; InvalidInputError for an option of the feature.
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
    // Left out only where the type of the configuration allows an empty one.
    const given = (config[0] ?? {}) as Config;
    this.#features.set(feature.key, { feature, instance: feature.install(this.#definition.pipeline.hooks, given) });
    return this;
  }

  /** The instance of an installed feature. @throws FeatureNotInstalledError when the agent does not have it. */
  feature<Instance>(feature: FeatureKey<Instance>): Instance {
    const installed = this.#features.get(feature.key);
    if (installed?.feature !== feature) throw new FeatureNotInstalledError(feature.key);
    // The instance is what this very feature returned.
    return installed.instance as Instance;
  }

  /**
   * Runs the strategy. A failure rejects, and so does an aborted signal, with its reason.
   *
   * @throws InvalidInputError when the strategy's schema refuses the input, or for an option; nothing has happened then.
   * @throws FeatureNotInstalledError for an option that needs a feature the agent does not have.
   */
  async run(input: Input, options: RunOptions = {}): Promise<RunResult<Output>> {
    checkSchema(runOptionsSchema, options, "options of run()");
    for (const option of ["runId", "history", "unfinished"] as const) {
      if (options[option] !== undefined) this.#needClaimed(option, `The option "${option}"`);
    }
    const { graph } = this.#definition;
    const checked = frozenCopy(checkSchema(graph.root.input, input, `input of strategy "${graph.name}"`));
    return this.#request("run", options, { input: checked });
  }

  /**
   * Goes on with what an earlier run left.
   *
   * @throws FeatureNotInstalledError without a feature that stores runs; InvalidInputError for an option.
   */
  async resume(options: ResumeOptions = {}): Promise<RunResult<Output>> {
    checkSchema(resumeOptionsSchema, options, "options of resume()");
    this.#needClaimed("resume", "resume()");
    return this.#request("resume", options, {});
  }

  /** Disposes the features, the last installed first. */
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
    // The strategy, which made the output, is the one this agent was constructed with.
    return result as RunResult<Output>;
  }
}

const featureSchema = z.object({ key: nonEmptyString, install: functionSchema() });

function isAsyncDisposable(value: unknown): value is AsyncDisposable {
  return typeof value === "object" && value !== null && Symbol.asyncDispose in value;
}
