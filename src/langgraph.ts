export { PersistenceSaver } from "./integrations/langgraph/PersistenceSaver.ts";
export type { ThreadSource } from "./integrations/langgraph/PersistenceSaver.ts";
export type { PersistenceSaverOptions, ThreadPruneOptions } from "./integrations/langgraph/saver/saverOptions.ts";
export type { ThreadSummary } from "./integrations/langgraph/saver/StoredThreads.ts";
export { GraphSerializer } from "./integrations/langgraph/values/GraphSerializer.ts";
export { ThreadChangedError } from "./errors/thread/ThreadChangedError.ts";
