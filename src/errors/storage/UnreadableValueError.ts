import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import type { ErrorCause } from "../ErrorCause.ts";

/** A stored value cannot be read: it is damaged, or this process lacks something that it was written with. */
export class UnreadableValueError extends AgentPersistenceError {
  override readonly code = "unreadable_value";
  /** The reference of the missing blob; `undefined` when the reason is another. */
  readonly blob: string | undefined;

  constructor(reason: string, { blob, ...options }: ErrorCause & { readonly blob?: string } = {}) {
    super(`A stored value cannot be read: ${reason}.`, options);
    this.blob = blob;
  }
}
