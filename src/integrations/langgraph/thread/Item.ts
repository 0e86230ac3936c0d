import type { StoredValue } from "../../../checkpoint/values/valueCodec.ts";

/** A stored value that lists, maps, writes and snapshots share. */
export interface Item {
  /** `undefined` for a short value, which is stored at each use. */
  readonly number: number | undefined;
  readonly stored: StoredValue;
}
