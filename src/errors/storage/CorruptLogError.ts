import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** The location of the damage in a log, and the end of the intact part before it. */
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
  /**
   * The last checkpoint before the damage. `undefined` if the log has no checkpoint that can be read without salvaging.
   */
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
