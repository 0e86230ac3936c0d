import type { StoredValue } from "../../../checkpoint/values/valueCodec.ts";

/** A stored value that lists, maps, writes and snapshots share. */
export interface Item {
  /** `undefined`: it is short, and stored wherever it is used. */
  readonly number: number | undefined;
  readonly stored: StoredValue;
}
