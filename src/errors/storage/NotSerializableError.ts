import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** How many characters from the end of a path a message shows. */
const longestPath = 200;

/** A value cannot be stored so that it reads back equal. Nothing was saved. */
export class NotSerializableError extends AgentPersistenceError {
  override readonly code = "not_serializable";

  constructor(
    /** The value that was to be saved, such as `input of node "check"`. */
    readonly subject: string,
    /** Where in it, such as `.items[2].save`; empty for the value itself. */
    readonly path: string,
    /** Why it cannot be stored, to be read after the path, such as `is a function`. */
    readonly reason: string,
  ) {
    const place = path === "" ? "the value" : path.length > longestPath ? `…${path.slice(-longestPath)}` : path;
    super(
      `Cannot save ${subject}: ${place} ${reason}. ` +
        `Use plain JSON, Date, Map, Set, bigint, bytes, URL or undefined, or register the class with registerClass().`,
    );
  }
}
