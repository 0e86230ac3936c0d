/** A checkpoint gets a name of the caller's, which no other has any more. Without `version`, the name is removed. */
export interface NameRecord {
  readonly kind: "name";
  readonly name: string;
  readonly version?: number;
}
