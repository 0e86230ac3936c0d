import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** Where a log is damaged, and how much before the damage is intact. */
export type LogDamage = Pick<CorruptLogError, "file"> &
  Partial<Pick<CorruptLogError, "line" | "lastPosition" | "lastCheckpointId">>;

/** A stored log has damage that no crash can cause. Nothing was changed, and no damaged record is skipped. */
export class CorruptLogError extends AgentPersistenceError {
  override readonly code = "corrupt_log";
  /** The file, or the part of the storage, that is damaged. */
  readonly file: string;
  /** Counted from 1; `undefined` when the whole file is meant. */
  readonly line: number | undefined;
  /** The last intact position before the damage; `undefined` when it is not known. */
  readonly lastPosition: number | undefined;
  /** The last checkpoint before the damage; `undefined` when there is none, or none that can be read without salvaging. */
  readonly lastCheckpointId: string | undefined;

  constructor(
    readonly agentId: string,
    { file, line, lastPosition, lastCheckpointId }: LogDamage,
    /** What is wrong there. */
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
