import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** One part of a checkpoint with its size. */
export interface LargePart {
  /** For example `storage key "cart"` or `message 12`. */
  readonly name: string;
  /** The size as JSON in UTF-8, before compression. */
  readonly bytes: number;
}

/**
 * A checkpoint, or the responses to requests, would add more bytes to the storage than `maxCheckpointBytes` allows. The
 * data was not saved.
 */
export class CheckpointTooLargeError extends AgentPersistenceError {
  override readonly code = "checkpoint_too_large";
  /** The total size of the new data, as JSON in UTF-8. */
  readonly bytes: number;
  /** The largest parts, largest first. At most five. */
  readonly parts: readonly LargePart[];

  constructor(
    readonly agentId: string,
    /** The path of the node that would run after this checkpoint, or of the node that made the requests. */
    readonly nodeId: string,
    parts: readonly LargePart[],
    readonly maxBytes: number,
    what: "checkpoint" | "answers" = "checkpoint",
  ) {
    const total = parts.reduce((sum, { bytes }) => sum + bytes, 0);
    const largest = parts.slice(0, 5);
    super(
      `${subjects[what]} agent ${quoted(agentId)} ${what === "checkpoint" ? "before" : "for"} node ${quoted(nodeId)} would add ${total} bytes, ` +
        `but at most ${maxBytes} bytes are allowed. Largest parts: ` +
        `${largest.map(({ name, bytes }) => `${name}, ${bytes} bytes`).join("; ")}. ` +
        `Keep such data elsewhere and store a reference to it, or raise maxCheckpointBytes.`,
    );
    this.bytes = total;
    this.parts = largest;
  }
}

const subjects = { checkpoint: "The checkpoint of", answers: "The answers to requests of" };
