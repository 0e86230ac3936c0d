export {
  type DurableResumeOptions,
  DurableRunner,
  type DurableRunnerOptions,
  type DurableRunnerRunOptions,
} from "./integrations/openai-agents/DurableRunner.ts";
export { PersistenceSession, type PersistenceSessionOptions } from "./integrations/openai-agents/PersistenceSession.ts";
export type { HostedReplay } from "./integrations/hosted/HostedAgents.ts";
export type { HostedProbe, HostedRollback, HostedToolSettings } from "./integrations/hosted/HostedTool.ts";
export { SessionConflictError } from "./errors/integrationErrors.ts";
