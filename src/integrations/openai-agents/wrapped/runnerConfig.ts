import type { Runner, RunConfig, ModelProvider } from "@openai/agents-core";
import { besideTheRun } from "./DurableRun.ts";
import { durableModel } from "./durableModel.ts";
import { givenOriginals } from "./originals.ts";

/** Returns the configuration of a runner with guardrails whose model requests are not recorded. */
export function withoutRecords(config: Partial<RunConfig>): Partial<RunConfig> {
  const { inputGuardrails, outputGuardrails, callModelInputFilter } = config;
  return {
    ...config,
    ...(inputGuardrails && { inputGuardrails: inputGuardrails.map(unrecorded) }),
    ...(outputGuardrails && { outputGuardrails: outputGuardrails.map(unrecorded) }),
    ...(callModelInputFilter && { callModelInputFilter: givenOriginals(callModelInputFilter) }),
  };
}

const tellingOriginals = new WeakSet<Runner>();

/** Makes the models of a runner durable, and passes the user's agents and tools to its listeners. */
export function makeDurable(runner: Runner): void {
  const { config } = runner;
  if (!tellingOriginals.has(runner)) runner.emit = givenOriginals(runner.emit.bind(runner)) as Runner["emit"];
  tellingOriginals.add(runner);
  config.modelProvider = durableModelProvider(config.modelProvider);
  if (typeof config.model === "object") config.model = durableModel(config.model);
}

/** Wraps a guardrail, so that its model requests are not recorded. */
export function unrecorded<Guardrail extends { readonly execute: (args: never) => unknown }>(
  guardrail: Guardrail,
): Guardrail {
  return { ...guardrail, execute: unrecordedCode(guardrail.execute) };
}

/** Wraps the code of a guardrail, so that it is not recorded and receives the user's agents. */
export function unrecordedCode<Parameters extends readonly unknown[], Result>(
  code: (...parameters: Parameters) => Result,
): (...parameters: Parameters) => Result {
  return besideTheRun(givenOriginals(code));
}

const durable = new WeakSet<ModelProvider>();

/** Wraps a provider, so that the responses of its models are recorded in durable runs. */
function durableModelProvider(provider: ModelProvider): ModelProvider {
  if (durable.has(provider)) return provider;
  const wrapper: ModelProvider = { getModel: async (name) => durableModel(await provider.getModel(name), name) };
  durable.add(wrapper);
  return wrapper;
}
