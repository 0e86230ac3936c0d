/** Counts of lines, indexed by line number. All counts are zero between uses. */
export interface LineCounts {
  readonly from: Int32Array;
  readonly to: Int32Array;
}

export function emptyCounts(different: number): LineCounts {
  return { from: new Int32Array(different), to: new Int32Array(different) };
}
