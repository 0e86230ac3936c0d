export { aiSdkExecutor, type AiSdkExecutor, type AiSdkExecutorOptions } from "./integrations/ai-sdk/aiSdkExecutor.ts";
export type { AiSdkAnswer } from "./integrations/ai-sdk/answerOf.ts";
export type {
  AiSdkFinishReason,
  AiSdkGeneration,
  AiSdkLanguageModel,
} from "./integrations/ai-sdk/AiSdkLanguageModel.ts";
export type { AiSdkModels } from "./integrations/ai-sdk/modelNamed.ts";
export { InvalidModelParametersError } from "./errors/InvalidModelParametersError.ts";
export { ModelAnswerEmptyError } from "./errors/ModelAnswerEmptyError.ts";
export { ModelAnswerFilteredError } from "./errors/ModelAnswerFilteredError.ts";
export { ModelAnswerIncompleteError } from "./errors/ModelAnswerIncompleteError.ts";
export { ModelNotAvailableError } from "./errors/ModelNotAvailableError.ts";
export { ModelRequestError } from "./errors/ModelRequestError.ts";
export { ToolSchemaError } from "./errors/ToolSchemaError.ts";
export { UnsupportedMessagePartError } from "./errors/UnsupportedMessagePartError.ts";
export { UnsupportedModelAnswerError } from "./errors/UnsupportedModelAnswerError.ts";
