import type { PromptExecutor, PromptRequest } from "../../agent/model/PromptExecutor.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { customSchema, functionSchema } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import type { AiSdkGeneration, AiSdkLanguageModel } from "./AiSdkLanguageModel.ts";
import { answerOf, type AiSdkAnswer } from "./answerOf.ts";
import { callOptionsOf } from "./callOptionsOf.ts";
import { modelNamed, type AiSdkModels } from "./modelNamed.ts";
import { requestErrorOf } from "./requestErrorOf.ts";

/** Options of {@link aiSdkExecutor}. */
export interface AiSdkExecutorOptions {
  /** Called for each thing that a provider warned of, such as a parameter that it ignores. Default: warnings are dropped. */
  readonly onWarning?: ((warning: unknown, model: string) => void) | undefined;
}

const modelsSchema = customSchema(
  "a language model of the AI SDK, or a function from a name to one",
  (models) => typeof models === "function" || (typeof models === "object" && models !== null),
);
const optionsSchema = strictOptions({ onWarning: functionSchema().optional() });

/** A prompt executor that also says why the model stopped. */
export interface AiSdkExecutor extends PromptExecutor {
  execute(request: PromptRequest): Promise<AiSdkAnswer>;
}

/**
 * Asks any language model of the AI SDK (5, 6 or 7).
 *
 * One model serves agents whose `llmModel` is its `modelId`; any other name is refused. To serve several, give a
 * function from names to models: a provider of the AI SDK is one.
 *
 * ```ts
 * const openai = createOpenAI({ apiKey });
 * new AIAgent({ promptExecutor: aiSdkExecutor(openai), llmModel: "gpt-5-mini" });
 * ```
 *
 * An agent's model parameters are the AI SDK's call settings (`temperature`, `maxOutputTokens`, `topP`, `topK`, `seed`,
 * `stopSequences`, `presencePenalty`, `frequencyPenalty`, `toolChoice`, `responseFormat`, `reasoning`,
 * `providerOptions`). They are stored with the agent, so headers and keys belong to the provider instead.
 *
 * Each call is one request: nothing is tried again. Retries with backoff are left to the caller, who knows how long the
 * agent may wait; `retryable` and `retryAfterMs` of {@link ModelRequestError} say when one makes sense. A URL of a file
 * part is passed on and never downloaded.
 *
 * @throws {@link ModelRequestError} when the request fails; {@link UnusableModelAnswerError} when its answer cannot be
 * used; {@link ModelNotAvailableError}, {@link InvalidModelParametersError}, {@link ToolSchemaError} and
 * {@link UnsupportedMessagePartError} before anything is sent; the reason of the abort signal once that is aborted.
 */
export function aiSdkExecutor(models: AiSdkModels, options: AiSdkExecutorOptions = {}): AiSdkExecutor {
  checkSchema(modelsSchema, models, "model of aiSdkExecutor");
  checkSchema(optionsSchema, options, "options of aiSdkExecutor");
  return {
    async execute(request) {
      request.abortSignal.throwIfAborted();
      const model = await modelNamed(models, request.model);
      const generation = await generate(model, request);
      for (const warning of generation.warnings ?? []) options.onWarning?.(warning, request.model);
      return answerOf(model, generation);
    },
  };
}

async function generate(model: AiSdkLanguageModel, request: PromptRequest): Promise<AiSdkGeneration> {
  const callOptions = callOptionsOf(model.specificationVersion, request);
  try {
    // `never` stands for the call options of the model's own version, which callOptionsOf made.
    return await model.doGenerate(callOptions as never);
  } catch (cause) {
    request.abortSignal.throwIfAborted();
    throw requestErrorOf(model, cause);
  }
}
