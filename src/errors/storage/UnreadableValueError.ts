import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A stored value cannot be read: it is damaged, or it was written with something this process does not have. */
export class UnreadableValueError extends AgentPersistenceError {
  readonly code = "unreadable_value";
  /** The reference of the blob that is missing; `undefined`: that is not the reason. */
  readonly blob: string | undefined;

  constructor(reason: string, { cause, blob }: { readonly cause?: unknown; readonly blob?: string } = {}) {
    super(`A stored value cannot be read: ${reason}.`, cause === undefined ? undefined : { cause });
    this.blob = blob;
  }
}
