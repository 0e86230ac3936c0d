import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** One part of a checkpoint, and its size. */
export interface LargePart {
  /** Such as `storage key "cart"` or `message 12`. */
  readonly name: string;
  /** The size as JSON in UTF-8, before compression. */
  readonly bytes: number;
}

/** A checkpoint would add more bytes to the storage than `maxCheckpointBytes` allows. Nothing was saved. */
export class CheckpointTooLargeError extends AgentPersistenceError {
  override readonly code = "checkpoint_too_large";
  /** The size of everything that the checkpoint would add, as JSON in UTF-8. */
  readonly bytes: number;
  /** The largest parts, the largest first; at most five. */
  readonly parts: readonly LargePart[];

  constructor(
    readonly agentId: string,
    /** The path of the node that would run next after this checkpoint. */
    readonly nodeId: string,
    parts: readonly LargePart[],
    readonly maxBytes: number,
  ) {
    const total = parts.reduce((sum, { bytes }) => sum + bytes, 0);
    const largest = parts.slice(0, 5);
    super(
      `The checkpoint of agent ${JSON.stringify(agentId)} before node ${JSON.stringify(nodeId)} would add ${total} bytes, ` +
        `and at most ${maxBytes} are allowed. Largest parts: ` +
        `${largest.map(({ name, bytes }) => `${name}, ${bytes} bytes`).join("; ")}. ` +
        `Keep such data elsewhere and store a reference to it, or raise maxCheckpointBytes.`,
    );
    this.bytes = total;
    this.parts = largest;
  }
}
