/** Names a checkpoint and removes the name from any other checkpoint. Without `version`, only removes the name. */
export interface NameRecord {
  readonly kind: "name";
  readonly name: string;
  readonly version?: number;
}
