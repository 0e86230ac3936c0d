import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** The kinds of logs. */
export type LogShapeName = "agent" | "thread" | "session";

/** A log belongs to another kind of owner, such as a graph thread instead of an agent. The log is unchanged. */
export class WrongShapeError extends AgentPersistenceError {
  override readonly code = "wrong_shape";

  constructor(
    readonly logId: string,
    /** The kind of the log according to its first record. A newer version of this library may use other kinds. */
    readonly found: string,
    /** The kind that the caller requested. */
    readonly expected: LogShapeName,
  ) {
    super(
      `The log ${quoted(logId)} belongs to ${withName(found)}, not to ${withName(expected)}. ` +
        `Choose another id, or open the log with the API that wrote it.`,
    );
  }
}

function withName(shape: string): string {
  if (shape === "agent") return "an agent";
  if (shape === "thread") return "a graph thread";
  return shape === "session" ? "a session" : `the shape ${quoted(shape)}`;
}
