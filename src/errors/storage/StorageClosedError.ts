import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A storage or an owned log was used after it was closed, released or dropped. `subject` names it. */
export class StorageClosedError extends AgentPersistenceError {
  override readonly code = "storage_closed";

  constructor(readonly subject: string) {
    super(`${subject} is closed. Open it again before you use it.`);
  }
}
