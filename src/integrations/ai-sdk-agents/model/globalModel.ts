import { ModelNotAvailableError } from "../../../errors/modelErrors.ts";
import type { ProviderModel } from "./ProviderModel.ts";

interface GlobalProvider {
  languageModel(modelId: string): ProviderModel;
}

/**
 * Returns a model by name from the global default provider of the AI SDK.
 *
 * @throws ModelNotAvailableError
 */
export function globalModel(modelId: string): ProviderModel {
  const { AI_SDK_DEFAULT_PROVIDER: provider } = globalThis as { readonly AI_SDK_DEFAULT_PROVIDER?: GlobalProvider };
  if (!provider)
    throw new ModelNotAvailableError(
      modelId,
      `the AI SDK has no provider for names; pass the model itself, such as gateway("${modelId}"), or set AI_SDK_DEFAULT_PROVIDER`,
    );
  return provider.languageModel(modelId);
}
