import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** How much of the end of a path a message shows. */
const longestPath = 200;

/** A value cannot be stored so that it comes back equal. Nothing was saved. */
export class NotSerializableError extends AgentPersistenceError {
  readonly code = "not_serializable";
  /** What was to be saved, such as `input of node "check"`. */
  readonly subject: string;
  /** Where in it, such as `.items[2].save`; empty for the value itself. */
  readonly path: string;
  readonly reason: string;

  constructor(subject: string, path: string, reason: string) {
    const place = path === "" ? "the value" : path.length > longestPath ? `…${path.slice(-longestPath)}` : path;
    super(
      `Cannot save ${subject}: ${place} ${reason}. ` +
        `Use plain JSON, Date, Map, Set, bigint, bytes, URL or undefined, or register the class with registerClass().`,
    );
    this.subject = subject;
    this.path = path;
    this.reason = reason;
  }
}
