/** Which visit of a node something belongs to: the version of the checkpoint it follows, and visits since. */
export type Visit = readonly [base: number, ordinal: number];
