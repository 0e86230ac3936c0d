import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A storage, or a log that was owned, was used after it had been closed, released or dropped. */
export class StorageClosedError extends AgentPersistenceError {
  override readonly code = "storage_closed";
  /** What is closed: a storage or the log of an agent. */
  readonly subject: string;

  constructor(subject: string) {
    super(`${subject} is closed. Open it again to go on.`);
    this.subject = subject;
  }
}
