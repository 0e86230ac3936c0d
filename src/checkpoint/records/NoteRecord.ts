import type { Pack } from "../values/BlobCell.ts";
import type { StoredValue } from "../values/valueCodec.ts";

/**
 * A value that a feature stores on a lane besides the agent's own state, such as the files it changed. A participant needs it
 * for a rollback, so it is kept as long as a kept checkpoint precedes it.
 */
export interface NoteRecord {
  readonly kind: "note";
  readonly lane: number;
  /** The key of the participant or feature that stored it. */
  readonly key: string;
  /** The tool call in which it was noted; absent: node code noted it. */
  readonly call?: string;
  readonly value: StoredValue;
  /** Contents that the value names by hash and that were new to the log. Absent: none. */
  readonly packs?: readonly Pack[];
}

/** A note and its place in the log. */
export interface NotePoint {
  readonly record: NoteRecord;
  readonly order: number;
}
