/** A blob that holds contents end to end: the SHA-256 of each, in hex, and its length in bytes. */
export interface Pack {
  readonly blob: string;
  readonly contents: readonly (readonly [hash: string, bytes: number])[];
}
