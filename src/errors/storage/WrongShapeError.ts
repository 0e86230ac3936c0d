import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** What a log can be the log of. */
export type LogShapeName = "agent" | "thread" | "session";

/** A log is that of something else: of a graph thread, for example, and not of an agent. Nothing has changed. */
export class WrongShapeError extends AgentPersistenceError {
  override readonly code = "wrong_shape";

  constructor(
    /** The id of the log. */
    readonly logId: string,
    /** What the log is, as its first record says; a version of this library that is newer may know other shapes. */
    readonly found: string,
    /** What it was opened or read as. */
    readonly expected: LogShapeName,
  ) {
    super(
      `The log ${quoted(logId)} is the log of ${withName(found)}, not of ${withName(expected)}. ` +
        `Choose another id, or use what wrote the log.`,
    );
  }
}

function withName(shape: string): string {
  if (shape === "agent") return "an agent";
  if (shape === "thread") return "a graph thread";
  return shape === "session" ? "a session" : `the shape ${quoted(shape)}`;
}
