import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** Where a log is damaged, and what of it is intact. */
export interface LogDamage {
  /** The file, or the part of the storage, that holds the damage. */
  readonly file: string;
  /** Counted from 1; absent when the whole file is meant. */
  readonly line?: number;
  /** The last position before the damage that is intact; absent when it is not known. */
  readonly lastPosition?: number;
  /** The last checkpoint before the damage; absent when there is none, or when nothing before it can be read in place. */
  readonly lastCheckpointId?: string;
}

/** A stored log holds what no crash can have left there. Nothing was changed and nothing of it is passed over. */
export class CorruptLogError extends AgentPersistenceError {
  override readonly code = "corrupt_log";
  readonly agentId: string;
  /** The file, or the part of the storage, that holds the damage. */
  readonly file: string;
  /** Counted from 1; `undefined` when the whole file is meant. */
  readonly line: number | undefined;
  /** What is wrong there. */
  readonly found: string;
  /** The last position before the damage that is intact; `undefined` when it is not known. */
  readonly lastPosition: number | undefined;
  /** The last checkpoint before the damage; `undefined` when there is none, or none that can be read in place. */
  readonly lastCheckpointId: string | undefined;

  constructor(agentId: string, damage: LogDamage, found: string) {
    const { file, line, lastPosition, lastCheckpointId } = damage;
    super(
      `The log of agent ${JSON.stringify(agentId)} is damaged at ${file}${line === undefined ? "" : `, line ${line}`}: ` +
        `${found}.${intactBefore(lastPosition, lastCheckpointId)} ` +
        `Restore the file from a backup, or salvage what is intact of the agent into another storage.`,
    );
    this.agentId = agentId;
    this.file = file;
    this.line = line;
    this.found = found;
    this.lastPosition = lastPosition;
    this.lastCheckpointId = lastCheckpointId;
  }
}

function intactBefore(position: number | undefined, checkpointId: string | undefined): string {
  const checkpoint = checkpointId === undefined ? "" : ` The last checkpoint before it is ${checkpointId}.`;
  return position === undefined ? checkpoint : ` The last intact position before it is ${position}.${checkpoint}`;
}
