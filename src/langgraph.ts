export { PersistenceSaver } from "./integrations/langgraph/PersistenceSaver.ts";
export type { ThreadSource } from "./integrations/langgraph/PersistenceSaver.ts";
export type { PersistenceSaverOptions, ThreadPruneOptions } from "./integrations/langgraph/saver/saverOptions.ts";
export type { ThreadSummary } from "./integrations/langgraph/saver/StoredThreads.ts";
export { durableTools } from "./integrations/langgraph/durableTools.ts";
export type { GraphToolSettings, GraphToolsSettings, LangChainTool } from "./integrations/langgraph/tools/GraphTool.ts";
export { GraphSerializer } from "./integrations/langgraph/values/GraphSerializer.ts";
export { ThreadChangedError, ToolOutsideThreadError } from "./errors/integrationErrors.ts";
