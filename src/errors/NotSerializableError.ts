import { AgentPersistenceError } from "./AgentPersistenceError.ts";

/** A value cannot be stored so that it comes back equal. Nothing was saved. */
export class NotSerializableError extends AgentPersistenceError {
  readonly code = "not_serializable";
  /** What was to be saved, such as `input of node "check"`. */
  readonly subject: string;
  /** Where in it, such as `.items[2].save`; empty for the value itself. */
  readonly path: string;
  readonly reason: string;

  constructor(subject: string, path: string, reason: string) {
    super(
      `Cannot save ${subject}: ${path === "" ? "the value" : path} ${reason}. ` +
        `Use plain JSON, Date, Map, Set, bigint, bytes, URL or undefined, or register the class with registerClass().`,
    );
    this.subject = subject;
    this.path = path;
    this.reason = reason;
  }

  /** The same failure, said of a larger thing. */
  within(subject: string): NotSerializableError {
    return new NotSerializableError(subject, this.path, this.reason);
  }
}
