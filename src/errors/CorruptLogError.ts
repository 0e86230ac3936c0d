import { AgentPersistenceError } from "./AgentPersistenceError.ts";

/** A stored log holds what no crash can have left there. Nothing was changed and nothing of it is passed over. */
export class CorruptLogError extends AgentPersistenceError {
  override readonly code = "corrupt_log";
  readonly agentId: string;
  /** The file, or the part of the storage, that holds the damage. */
  readonly file: string;
  /** Counted from 1; `undefined` when the whole file is meant. */
  readonly line: number | undefined;
  /** The last position before the damage that is intact; `undefined` when it is not known. */
  readonly lastPosition: number | undefined;

  constructor(
    agentId: string,
    where: { readonly file: string; readonly line?: number; readonly lastPosition?: number },
    found: string,
  ) {
    const line = where.line === undefined ? "" : `, line ${where.line}`;
    const last =
      where.lastPosition === undefined ? "" : ` The last intact position before it is ${where.lastPosition}.`;
    super(
      `The log of agent ${JSON.stringify(agentId)} is damaged at ${where.file}${line}: ${found}.${last} ` +
        `Restore the file from a backup.`,
    );
    this.agentId = agentId;
    this.file = where.file;
    this.line = where.line;
    this.lastPosition = where.lastPosition;
  }
}
