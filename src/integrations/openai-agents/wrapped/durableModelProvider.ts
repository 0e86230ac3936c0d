import type { ModelProvider } from "@openai/agents-core";
import { durableModel } from "./durableModel.ts";

const durable = new WeakSet<ModelProvider>();

/** Returns a provider whose models are recorded inside durable runs. */
export function durableModelProvider(provider: ModelProvider): ModelProvider {
  if (durable.has(provider)) return provider;
  const wrapper: ModelProvider = { getModel: async (name) => durableModel(await provider.getModel(name), name) };
  durable.add(wrapper);
  return wrapper;
}
