/** A stored append. Its records are plain JSON and untrusted. */
export interface EntryView {
  readonly position: number;
  readonly generation: number;
  readonly id: string;
  readonly checksum: string;
  readonly prev: string;
  readonly records: readonly { readonly kind: string; readonly [field: string]: unknown }[];
}
