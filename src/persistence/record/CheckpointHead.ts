/** The checkpoint that a line goes on from. */
export interface CheckpointHead {
  readonly version: number;
  readonly id: string;
}
