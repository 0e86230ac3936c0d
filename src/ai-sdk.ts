export { aiSdkExecutor } from "./integrations/ai-sdk/aiSdkExecutor.ts";
export type { AiSdkExecutor, AiSdkExecutorOptions, AiSdkModels } from "./integrations/ai-sdk/aiSdkExecutor.ts";
export type { AiSdkAnswer } from "./integrations/ai-sdk/answerOf.ts";
export type {
  AiSdkFinishReason,
  AiSdkGeneration,
  AiSdkLanguageModel,
  AiSdkStream,
} from "./integrations/ai-sdk/AiSdkLanguageModel.ts";
export { InvalidModelParametersError } from "./errors/model/InvalidModelParametersError.ts";
export { UnusableModelAnswerError } from "./errors/model/UnusableModelAnswerError.ts";
export { ModelNotAvailableError } from "./errors/model/ModelNotAvailableError.ts";
export { ModelRequestError } from "./errors/model/ModelRequestError.ts";
export { ToolSchemaError } from "./errors/model/ToolSchemaError.ts";
export { UnsupportedMessagePartError } from "./errors/model/UnsupportedMessagePartError.ts";
