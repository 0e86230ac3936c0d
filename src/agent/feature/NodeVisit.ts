/** Which visit of a node this is: the same when the visit is repeated after a crash. */
export interface NodeVisit {
  /** What visits are counted from, such as the position of the last checkpoint. */
  readonly base: number;
  /** The visits between `base` and this one. */
  readonly ordinal: number;
}
