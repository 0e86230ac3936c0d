/**
 * Stands for a value in the records of an index: where the value is in the log. It is read when it is shown, so an index takes
 * as much memory for large values as for small ones.
 */
export class StoredAt {
  /** Orders the record among all of the index. */
  order = -1;
  /** Of the record; -1 where it is of no lane. References in the value are those of the lane. */
  lane = -1;

  constructor(
    /** Of the append. */
    readonly position: number,
    /** Which record of the append, counted from 0. */
    readonly record: number,
    readonly field: string,
    /** Which item of a list in the record. Absent: the field is the record's own. */
    readonly item?: number,
  ) {}
}
