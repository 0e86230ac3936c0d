import type { Pack } from "../values/BlobCell.ts";
import type { StoredValue } from "../values/valueCodec.ts";

/**
 * What a feature keeps on a line beside the agent's own state, such as the files it changed. A participant takes it into
 * account when the agent is rolled back, so it is kept as long as a kept checkpoint precedes it.
 */
export interface NoteRecord {
  readonly kind: "note";
  readonly lane: number;
  /** Whose it is: the key of a participant, or of a feature that keeps its own account. */
  readonly key: string;
  /** The tool call in which it was noted; absent: node code noted it. */
  readonly call?: string;
  readonly value: StoredValue;
  /** Contents that the value names by hash and that the log did not have before. Absent: none. */
  readonly packs?: readonly Pack[];
}
