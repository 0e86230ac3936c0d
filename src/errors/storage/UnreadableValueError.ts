import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import type { ErrorCause } from "../ErrorCause.ts";

/**
 * A stored value cannot be read, because it is damaged or because this process lacks a class or codec that wrote it.
 */
export class UnreadableValueError extends AgentPersistenceError {
  override readonly code = "unreadable_value";
  /** The reference of the missing blob. `undefined` for other reasons. */
  readonly blob: string | undefined;

  constructor(reason: string, { blob, ...options }: ErrorCause & { readonly blob?: string } = {}) {
    super(`A stored value cannot be read: ${reason}.`, options);
    this.blob = blob;
  }
}
