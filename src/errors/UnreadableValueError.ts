import { AgentPersistenceError } from "./AgentPersistenceError.ts";

/** A stored value cannot be read: it is damaged, or it was written with something this process does not have. */
export class UnreadableValueError extends AgentPersistenceError {
  readonly code = "unreadable_value";

  constructor(reason: string, options?: { readonly cause?: unknown }) {
    super(`A stored value cannot be read: ${reason}.`, options);
  }
}
