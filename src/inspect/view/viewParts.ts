import type { FileChange } from "../../checkpoint/data/FileChange.ts";
import type { LinePath as LineView } from "../../checkpoint/data/linePath.ts";

export type { LineView };

export interface Problem {
  readonly code: string;
  readonly message: string;
}

/**
 * A stored value as plain JSON. Dates become ISO 8601 text, big integers digits, bytes `{ $bytes: <length> }`, maps
 * lists of pairs, sets lists, and `undefined` null. Untrusted, because it comes from a log.
 */
export type ShownValue =
  | {
      readonly value: unknown;
      /** True if a text that states their size replaces parts over the limits. Omitted if the value is complete. */
      readonly cut?: true;
    }
  | { readonly unreadable: Problem };

/** Numbers of tokens. A number is omitted if the provider did not report it. */
export interface UsageView {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly totalTokens?: number;
  /** The part of `inputTokens` that the provider read from its cache. */
  readonly cachedInputTokens?: number;
}

/** A part of the history of a run, branch or sub-agent. Each move and each run starts a new lane. */
export interface LaneView {
  /** The number by which steps and checkpoints refer to the lane. */
  readonly lane: number;
  readonly line: LineView;
  /** The lane that contains this branch or sub-agent. Omitted for the run itself. */
  readonly parentLane?: number;
  /** The id of the tool call that runs the sub-agent. Omitted outside of sub-agents. */
  readonly toolCallId?: string;
  /** The id of the checkpoint from which the lane starts. Omitted if the lane starts empty. */
  readonly fromId?: string;
  /** The id of the newest checkpoint. Omitted if the lane has no checkpoint. */
  readonly lastId?: string;
  /** The part of the previous state with which the lane starts. */
  readonly keeps: "all" | "history" | "state" | "nothing";
  /** `open` if the agent continues from the lane, `ended` if the branch was joined, `left` if it was abandoned. */
  readonly state: "open" | "ended" | "left";
}

/** A change of a file. Untrusted, because it comes from a log. */
export interface FileChangeView extends FileChange {
  readonly change: "created" | "modified" | "deleted";
}

/** A file change with its location in the log. */
export interface NotedFileChange extends FileChangeView {
  /** The id of the tool call that made the change. Omitted if a node made it. */
  readonly toolCallId?: string;
  readonly position: number;
  readonly lane: number;
  readonly isReverted: boolean;
}

/** A stored append. Its records are plain JSON and untrusted. */
export interface EntryView {
  readonly position: number;
  readonly generation: number;
  readonly id: string;
  readonly checksum: string;
  readonly prev: string;
  readonly records: readonly { readonly kind: string; readonly [field: string]: unknown }[];
}

/** A damage of the log, and the end of the readable part before it. */
export interface Damage extends Problem {
  /** The damaged file or part of the storage. Omitted if the records contradict each other. */
  readonly file?: string;
  readonly line?: number;
  /** The last position before the damage, or 0. */
  readonly lastPosition: number;
  /** The id of the last checkpoint before the damage. Omitted if there is no such checkpoint. */
  readonly lastCheckpointId?: string;
}
