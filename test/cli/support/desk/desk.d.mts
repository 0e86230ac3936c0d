import type { AIAgent, PersistenceStorageProvider, PromptExecutor } from "agent-persistence";

/** Books a room, writes a letter, and refunds what a person approves. */
export function deskOn(storage: PersistenceStorageProvider, promptExecutor?: PromptExecutor): AIAgent<string, string>;

/** Asks a person, and then fails with an error of the library. */
export function refusing(): AIAgent<string, string>;
