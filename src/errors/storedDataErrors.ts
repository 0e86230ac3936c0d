import { AgentPersistenceError, type ErrorCause, quoted } from "./AgentPersistenceError.ts";

/** The bytes of a blob do not match the hash in its reference. */
export class CorruptBlobError extends AgentPersistenceError {
  override readonly code = "corrupt_blob";

  constructor(
    readonly agentId: string,
    /** The reference of the blob, such as `blob://<SHA-256>-<n>`. */
    readonly reference: string,
    found = "does not have the hash in its reference",
    options?: CorruptBlobOptions,
  ) {
    const place = options?.place === undefined ? "" : ` in ${options.place}`;
    super(
      `The content of ${reference} of agent ${quoted(agentId)}${place} ${found}. Restore it from a backup.`,
      options,
    );
  }
}

interface CorruptBlobOptions extends ErrorCause {
  /** The location of the content, such as a file path. If omitted, the message names no location. */
  readonly place?: string | undefined;
}

/** The location of the damage in a log, and the end of the intact part before the damage. */
export type LogDamage = Pick<CorruptLogError, "file"> &
  Partial<Pick<CorruptLogError, "line" | "lastPosition" | "lastCheckpointId">>;

/** A stored log has damage that a crash cannot cause. The log is unchanged, and damaged records are never skipped. */
export class CorruptLogError extends AgentPersistenceError {
  override readonly code = "corrupt_log";
  /** The damaged file or part of the storage. */
  readonly file: string;
  /** The line number, counted from 1. `undefined` if the whole file is damaged. */
  readonly line: number | undefined;
  /** The last intact position before the damage. `undefined` if unknown. */
  readonly lastPosition: number | undefined;
  /** The last checkpoint before the damage. `undefined` if unknown. */
  readonly lastCheckpointId: string | undefined;

  constructor(
    readonly agentId: string,
    { file, line, lastPosition, lastCheckpointId }: LogDamage,
    /** A description of the damage. */
    readonly found: string,
  ) {
    const place = line === undefined ? file : `${file}, line ${line}`;
    const position = lastPosition === undefined ? "" : ` The last intact position before it is ${lastPosition}.`;
    const checkpoint = lastCheckpointId === undefined ? "" : ` The last checkpoint before it is ${lastCheckpointId}.`;
    super(
      `The log of agent ${quoted(agentId)} is damaged at ${place}: ${found}.${position}${checkpoint} ` +
        `Restore the file from a backup, or salvage the intact part of the agent into another storage.`,
    );
    this.file = file;
    this.line = line;
    this.lastPosition = lastPosition;
    this.lastCheckpointId = lastCheckpointId;
  }
}

/** `importAgent` received an incomplete or damaged archive. The agent was not imported. */
export class InvalidArchiveError extends AgentPersistenceError {
  override readonly code = "invalid_archive";

  constructor(
    /** A description of the problem. */
    readonly found: string,
    options?: ErrorCause,
  ) {
    super(`The archive cannot be imported: ${found}. Export the agent again.`, options);
  }
}

/** The maximum number of characters that a message shows from the end of a path. */
const longestPath = 200;

/** A value cannot be stored and read back as an equal value. The value was not saved. */
export class NotSerializableError extends AgentPersistenceError {
  override readonly code = "not_serializable";
  /** The location in the value, such as `.items[2].save`. `.` for the value itself. */
  readonly path: string;

  constructor(
    /** The value to save, such as `input of node "check"`. */
    readonly subject: string,
    path: string,
    /** The reason, as a phrase that follows the path, such as `is a function`. */
    readonly reason: string,
    /** Advice at the end of the message. Defaults to no further advice. */
    next = "",
  ) {
    const place = path.length < 2 ? "the value" : path.length > longestPath ? `…${path.slice(-longestPath)}` : path;
    super(
      `Cannot save ${subject}: ${place} ${reason}. ` +
        `Use plain JSON, Date, Map, Set, bigint, bytes, URL or undefined, or register the class with registerClass().${next}`,
    );
    this.path = path || ".";
  }
}

/** A stored value cannot be read, because it is damaged, or this process lacks its class or codec. */
export class UnreadableValueError extends AgentPersistenceError {
  override readonly code = "unreadable_value";
  /** The reference of the missing blob. `undefined` if no blob is missing. */
  readonly blob: string | undefined;

  constructor(reason: string, { blob, ...options }: ErrorCause & { readonly blob?: string } = {}) {
    super(`A stored value cannot be read: ${reason}.`, options);
    this.blob = blob;
  }
}

/** A newer version of this library wrote the stored data. The data is unchanged. */
export class UnsupportedFormatError extends AgentPersistenceError {
  override readonly code = "unsupported_format";

  constructor(
    /** The file or row with the data. */
    readonly subject: string,
    readonly found: number,
    readonly supported: number,
  ) {
    super(
      `${subject} has format ${found}, but this version reads formats up to ${supported}. Update agent-persistence to read it.`,
    );
  }
}

/** A log contains a record of a kind that only a newer version of this library knows. The log is unchanged. */
export class UnsupportedRecordError extends AgentPersistenceError {
  override readonly code = "unsupported_record";

  constructor(
    readonly recordKind: string,
    /** The position of the append that contains the record. */
    readonly position: number,
  ) {
    super(
      recordKind === "encrypted"
        ? "The log is encrypted. Open the storage with encrypted(), or pass --keys to the command line."
        : `Append ${position} of the log has a record of the kind ${quoted(recordKind)}, which a newer ` +
            `version of agent-persistence wrote. Skipping the record would change the state of the agent. Update agent-persistence to read the record.`,
    );
  }
}

/** The kinds of logs that do not belong to agents. Their ids start with the kind and a colon. */
export const logShapes = ["thread", "session", "inbox", "rate", "schedule"] as const;

export type LogShapeName = "agent" | (typeof logShapes)[number];

const readers: Readonly<Record<string, string>> = { thread: "PersistenceSaver", session: "PersistenceSession" };

/** A log is of another kind than expected, such as a graph thread and not an agent. The log is unchanged. */
export class WrongShapeError extends AgentPersistenceError {
  override readonly code = "wrong_shape";

  constructor(
    readonly logId: string,
    /** The kind of the log according to its first record. A newer version of this library may use other kinds. */
    readonly found: string,
    readonly expected: LogShapeName,
  ) {
    super(
      `The log ${quoted(logId)} belongs to ${withName(found)}, not to ${withName(expected)}. ` +
        `Choose another id, or open the log with ${readers[found] ?? "the API that wrote it"}.`,
    );
  }
}

function withName(shape: string): string {
  if (shape === "agent") return "an agent";
  if (shape === "thread") return "a graph thread";
  return shape === "session" ? "a session" : `the shape ${quoted(shape)}`;
}
