import type { Pack } from "../values/BlobCell.ts";
import type { StoredValue } from "../values/valueCodec.ts";

/**
 * A value that a feature stores on a lane, such as changed files. Participants need it for rollbacks, so it is kept as
 * long as a kept checkpoint precedes it.
 */
export interface NoteRecord {
  readonly kind: "note";
  readonly lane: number;
  readonly key: string;
  readonly call?: string;
  readonly value: StoredValue;
  readonly packs?: readonly Pack[];
}

export interface NotePoint {
  readonly record: NoteRecord;
  readonly order: number;
}
