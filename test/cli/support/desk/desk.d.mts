import type { AIAgent, PersistenceStorageProvider, PromptExecutor } from "agent-persistence";

/** Books a room, writes a letter, and refunds what a person approves. */
export function deskOn(storage: PersistenceStorageProvider, promptExecutor?: PromptExecutor): AIAgent<string, string>;

/** An agent whose only node does not end with DESK_STUCK. */
export function stuck(): AIAgent<string, string>;

/** Asks a person, and then fails with an error of the library. */
export function refusing(): AIAgent<string, string>;
