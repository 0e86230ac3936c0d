export { PersistenceSession, type PersistenceSessionOptions } from "./integrations/openai-agents/PersistenceSession.ts";
export { SessionConflictError } from "./errors/session/SessionConflictError.ts";
