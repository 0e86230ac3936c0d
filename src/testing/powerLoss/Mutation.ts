/** A place in a folder. Files and folders have numbers of their own, since one may have several names or none. */
export interface FolderEntry {
  readonly folder: number;
  readonly name: string;
}

/** Something that changed a simulated file system, or that made changes durable. Nothing is changed in part but a write. */
export type Mutation = { readonly path: string } & (
  | (FolderEntry & { readonly kind: "name"; readonly node: number; readonly makes?: "file" | "folder" })
  | (FolderEntry & { readonly kind: "unname" })
  | (FolderEntry & { readonly kind: "rename"; readonly node: number; readonly from: FolderEntry })
  | { readonly kind: "write"; readonly node: number; readonly offset: number; readonly bytes: Uint8Array }
  /** What was written to the file, or named in the folder, is on the device. */
  | { readonly kind: "sync"; readonly node: number }
  /** A sync that failed: what was written to the file before it never gets onto the device, whatever later ones say. */
  | { readonly kind: "lose"; readonly node: number }
);
