import type { Runner, RunConfig } from "@openai/agents-core";
import { besideTheRun } from "./currentRun.ts";
import { durableModel } from "./durableModel.ts";
import { durableModelProvider } from "./durableModelProvider.ts";

/** The configuration of a runner, with guardrails that record nothing. */
export function withoutRecords(config: Partial<RunConfig>): Partial<RunConfig> {
  const { inputGuardrails, outputGuardrails } = config;
  return {
    ...config,
    ...(inputGuardrails && { inputGuardrails: inputGuardrails.map(unrecorded) }),
    ...(outputGuardrails && { outputGuardrails: outputGuardrails.map(unrecorded) }),
  };
}

/** Makes the models durable that a runner chooses. */
export function makeDurable({ config }: Runner): void {
  config.modelProvider = durableModelProvider(config.modelProvider);
  if (typeof config.model === "object") config.model = durableModel(config.model);
}

/** The guardrail, whose model requests are not those of the run. */
export function unrecorded<Guardrail extends { readonly execute: (args: never) => unknown }>(
  guardrail: Guardrail,
): Guardrail {
  return { ...guardrail, execute: besideTheRun(guardrail.execute) };
}
