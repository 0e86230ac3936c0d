import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A part of what was to be saved, and its size. */
export interface LargePart {
  /** Such as `storage key "cart"` or `message 12`. */
  readonly name: string;
  /** Of UTF-8 JSON, before compression. */
  readonly bytes: number;
}

const shown = 5;

/** A checkpoint would add more to the storage than one may. Nothing was saved. */
export class CheckpointTooLargeError extends AgentPersistenceError {
  override readonly code = "checkpoint_too_large";
  readonly agentId: string;
  /** The node that the checkpoint says runs next. */
  readonly nodeId: string;
  /** Everything that it would add. */
  readonly bytes: number;
  readonly maxBytes: number;
  /** The largest parts, at most five, largest first. */
  readonly parts: readonly LargePart[];

  constructor(agentId: string, nodeId: string, parts: readonly LargePart[], maxBytes: number) {
    const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
    const largest = parts.slice(0, shown);
    super(
      `The checkpoint of agent ${JSON.stringify(agentId)} before node ${JSON.stringify(nodeId)} would add ${bytes} bytes, ` +
        `and at most ${maxBytes} are allowed. Largest: ` +
        `${largest.map((part) => `${part.name}, ${part.bytes} bytes`).join("; ")}. ` +
        `Keep such data elsewhere and store where it is, or raise maxCheckpointBytes.`,
    );
    this.agentId = agentId;
    this.nodeId = nodeId;
    this.bytes = bytes;
    this.maxBytes = maxBytes;
    this.parts = largest;
  }
}
