/** One append as it is stored. Its records are plain JSON that is not to be trusted. */
export interface EntryView {
  readonly position: number;
  readonly generation: number;
  readonly id: string;
  readonly checksum: string;
  readonly prev: string;
  readonly records: readonly { readonly kind: string; readonly [field: string]: unknown }[];
}
