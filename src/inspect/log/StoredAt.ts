/**
 * Replaces a value in the records of an index with its location in the log. The value is read when it is shown, so
 * large values take no more memory than small ones.
 */
export class StoredAt {
  order = -1;
  /** The lane of the record, or -1. References in the value belong to this lane. */
  lane = -1;

  constructor(
    readonly position: number,
    readonly record: number,
    readonly field: string,
    /** The index of the item if the field is a list. `undefined` if the value is the field itself. */
    readonly item?: number,
  ) {}
}
