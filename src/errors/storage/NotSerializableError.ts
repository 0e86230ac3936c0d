import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** The maximum number of characters that a message shows from the end of a path. */
const longestPath = 200;

/** A value cannot be stored and read back as an equal value. The value was not saved. */
export class NotSerializableError extends AgentPersistenceError {
  override readonly code = "not_serializable";

  constructor(
    /** The value to save, such as `input of node "check"`. */
    readonly subject: string,
    /** The location in the value, such as `.items[2].save`. Empty for the value itself. */
    readonly path: string,
    /** The reason, as a phrase that follows the path, such as `is a function`. */
    readonly reason: string,
  ) {
    const place = path === "" ? "the value" : path.length > longestPath ? `…${path.slice(-longestPath)}` : path;
    super(
      `Cannot save ${subject}: ${place} ${reason}. ` +
        `Use plain JSON, Date, Map, Set, bigint, bytes, URL or undefined, or register the class with registerClass().`,
    );
  }
}
