export { aiSdkExecutor } from "./integrations/ai-sdk/aiSdkExecutor.ts";
export type { AiSdkExecutor, AiSdkExecutorOptions, AiSdkModels } from "./integrations/ai-sdk/aiSdkExecutor.ts";
export type { AiSdkAnswer } from "./integrations/ai-sdk/aiSdkResponse.ts";
export type {
  AiSdkFinishReason,
  AiSdkGeneration,
  AiSdkLanguageModel,
  AiSdkStream,
} from "./integrations/ai-sdk/AiSdkLanguageModel.ts";
export {
  InvalidModelParametersError,
  UnusableModelAnswerError,
  ModelNotAvailableError,
  ModelRequestError,
  ToolSchemaError,
  UnsupportedMessagePartError,
} from "./errors/modelErrors.ts";
export { durableAgent } from "./integrations/ai-sdk-agents/durableAgent.ts";
export type { DurableAgents } from "./integrations/ai-sdk-agents/durableAgent.ts";
export { durableRun } from "./integrations/ai-sdk-agents/durableRun.ts";
export type { DurableRunOptions } from "./integrations/ai-sdk-agents/durableRun.ts";
export type { AnyAgent } from "./integrations/ai-sdk-agents/AgentRunner.ts";
export type { BoundAgentOf, ResumeAgentOptions } from "./integrations/ai-sdk-agents/durableAgent.ts";
export type { Durable, AiSdkTools, AiSdkToolsSettings } from "./integrations/ai-sdk-agents/Durable.ts";
export type { HostedToolSettings as AiSdkToolSettings } from "./integrations/hosted/HostedTool.ts";
export type { BoundAgentOptions, DurableAgentOptions } from "./integrations/ai-sdk-agents/DurableAgentOptions.ts";
export type { HostedReplay, HostedReplayOptions } from "./integrations/hosted/HostedAgents.ts";
export type { HostedProbe, HostedRollback } from "./integrations/hosted/HostedTool.ts";
export { RunStoppedError } from "./errors/runErrors.ts";
