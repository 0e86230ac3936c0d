/** What was done to a file system, in order, and what of it had become durable when. */
export class MutationTrace {
  readonly #mutations: Mutation[] = [];
  /** For each mutation, the number of the sync that made it durable. */
  readonly #syncedBy: (number | undefined)[] = [];
  /** Of each file or folder, the mutations that no sync has covered. */
  readonly #unsynced = new Map<number, number[]>();

  get length(): number {
    return this.#mutations.length;
  }

  add(mutation: Mutation): void {
    const at = this.#mutations.push(mutation) - 1;
    if (mutation.kind === "lose") this.#unsynced.delete(mutation.node);
    else if (mutation.kind === "sync") this.#sync(mutation.node, at);
    else this.#wait(mutation.kind === "write" ? mutation.node : mutation.folder, at);
  }

  /** The first mutations, as many as asked for. */
  first(count: number): readonly Mutation[] {
    return this.#mutations.slice(0, count);
  }

  /** Of the first mutations, those that a loss of power after them may undo, in order. */
  undurable(count: number): readonly number[] {
    const found: number[] = [];
    for (let at = 0; at < count; at++) {
      const { kind } = this.#mutations[at] as Mutation;
      if (kind !== "sync" && kind !== "lose" && (this.#syncedBy[at] ?? count) >= count) found.push(at);
    }
    return found;
  }

  #sync(node: number, by: number): void {
    for (const at of this.#unsynced.get(node) ?? []) this.#syncedBy[at] = by;
    this.#unsynced.delete(node);
  }

  #wait(node: number, at: number): void {
    const waiting = this.#unsynced.get(node);
    if (waiting === undefined) this.#unsynced.set(node, [at]);
    else waiting.push(at);
  }
}

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
