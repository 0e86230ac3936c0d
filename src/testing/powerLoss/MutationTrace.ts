/** The mutations of a file system in order, and when they became durable. */
export class MutationTrace {
  readonly #mutations: Mutation[] = [];
  /** The number of the sync that made each mutation durable. */
  readonly #syncedBy: (number | undefined)[] = [];
  /** The mutations of each file or directory that are not synced. */
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

  first(count: number): readonly Mutation[] {
    return this.#mutations.slice(0, count);
  }

  /** Considers the first `count` mutations. Returns those that a power loss at this point may undo, in order. */
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

/** A name in a directory. Files are identified by number, because one may have several names or none. */
export interface FolderEntry {
  readonly folder: number;
  readonly name: string;
}

/** A change or a sync of a simulated file system. All changes except writes are atomic. */
export type Mutation = { readonly path: string } & (
  | (FolderEntry & { readonly kind: "name"; readonly node: number; readonly makes?: "file" | "folder" })
  | (FolderEntry & { readonly kind: "unname" })
  | (FolderEntry & { readonly kind: "rename"; readonly node: number; readonly from: FolderEntry })
  | { readonly kind: "write"; readonly node: number; readonly offset: number; readonly bytes: Uint8Array }
  /** Makes the writes of a file, or the names in a directory, durable. */
  | { readonly kind: "sync"; readonly node: number }
  /** A failed sync. The earlier writes of the file never become durable, even if later syncs succeed. */
  | { readonly kind: "lose"; readonly node: number }
);
