import { SimulatedSystemError } from "./Fault.ts";

type Folder = Map<string, number>;

const root = 0;

export class FileTree {
  readonly #nodes = new Map<number, FileContent | Folder>([[root, new Map()]]);

  /** The number of the next node. Nodes are never removed, so open files without a name still work. */
  get nextNode(): number {
    return this.#nodes.size;
  }

  find(path: string): number | undefined {
    return this.#walk(partsOf(path));
  }

  /** Returns the error for a missing name. A path through a file has a different error. */
  missing(path: string, call: string): SimulatedSystemError {
    const parts = partsOf(path).slice(0, -1);
    const isFile = (_: string, index: number) =>
      this.content(this.#walk(parts.slice(0, index + 1)) ?? root) !== undefined;
    return new SimulatedSystemError(parts.some(isFile) ? "ENOTDIR" : "ENOENT", call, path);
  }

  /** Returns the location of a name that exists or may be created. */
  entryOf(path: string, call: string): FolderEntry {
    const parts = partsOf(path);
    const folder = this.#walk(parts.slice(0, -1));
    const name = parts.at(-1);
    if (folder === undefined || this.content(folder) !== undefined) throw this.missing(path, call);
    if (name === undefined) throw new SimulatedSystemError("EEXIST", call, path);
    return { folder, name };
  }

  content(node: number): FileContent | undefined {
    const found = this.#nodes.get(node);
    return found instanceof FileContent ? found : undefined;
  }

  names(folder: number): string[] {
    return [...this.#folder(folder).keys()].sort();
  }

  /** @param fate - the crash outcome of a mutation that was not durable. */
  apply(mutation: Mutation, fate: WriteOutcome): void {
    if (mutation.kind === "name" && mutation.makes !== undefined)
      this.#nodes.set(mutation.node, mutation.makes === "file" ? new FileContent() : new Map());
    if (mutation.kind === "write") this.content(mutation.node)?.write(mutation.offset, mutation.bytes, fate);
    else if (fate === "kept") this.#applyToFolder(mutation);
  }

  copy(): FileTree {
    const tree = new FileTree();
    for (const [node, content] of this.#nodes)
      tree.#nodes.set(node, content instanceof FileContent ? content.copy() : new Map(content));
    return tree;
  }

  *files(folder = root, path = ""): Generator<readonly [path: string, content: FileContent]> {
    for (const name of this.names(folder)) {
      const node = this.#folder(folder).get(name) ?? root;
      const content = this.content(node);
      if (content === undefined) yield* this.files(node, `${path}/${name}`);
      else yield [`${path}/${name}`, content];
    }
  }

  #applyToFolder(mutation: Mutation): void {
    if (mutation.kind === "rename") this.#folder(mutation.from.folder).delete(mutation.from.name);
    if (mutation.kind === "unname") this.#folder(mutation.folder).delete(mutation.name);
    if (mutation.kind === "name" || mutation.kind === "rename")
      this.#folder(mutation.folder).set(mutation.name, mutation.node);
  }

  #walk(parts: readonly string[]): number | undefined {
    let node: number | undefined = root;
    for (const part of parts) {
      const found: FileContent | Folder | undefined = node === undefined ? undefined : this.#nodes.get(node);
      node = found instanceof Map ? found.get(part) : undefined;
    }
    return node;
  }

  #folder(node: number): Folder {
    const found = this.#nodes.get(node);
    return found instanceof Map ? found : new Map<string, number>();
  }
}

function partsOf(path: string): readonly string[] {
  return path.split(/[/\\]/).filter((part) => part !== "");
}

const staleByte = 0x78;

class FileContent {
  #bytes = new Uint8Array(0);
  #size = 0;
  /** Whether a copy shares the bytes. The next write then copies the bytes first. */
  #isShared = false;

  get size(): number {
    return this.#size;
  }

  read(start = 0, length = this.#size): Uint8Array {
    return this.#bytes.slice(start, Math.min(this.#size, start + length));
  }

  /** Applies the part of a write that survived a crash. Fills gaps before this part with zeros. */
  write(offset: number, bytes: Uint8Array, fate: WriteOutcome): void {
    if (fate === "lost") return;
    if (fate !== "kept") return this.#writeTorn(offset, bytes, fate);
    this.#grow(offset + bytes.length);
    this.#bytes.set(bytes, offset);
  }

  copy(): FileContent {
    const copy = new FileContent();
    copy.#bytes = this.#bytes;
    copy.#size = this.#size;
    copy.#isShared = true;
    this.#isShared = true;
    return copy;
  }

  #writeTorn(offset: number, bytes: Uint8Array, { kept, fill }: Tear): void {
    const end = offset + bytes.length;
    for (const [index, isKept] of kept.entries()) {
      const sector = (Math.floor(offset / sectorSize) + index) * sectorSize;
      const [from, to] = [Math.max(offset, sector), Math.min(end, sector + sectorSize)];
      if (isKept || fill !== "nothing") this.#grow(to);
      if (isKept) this.#bytes.set(bytes.subarray(from - offset, to - offset), from);
      else if (fill === "stale") this.#bytes.fill(staleByte, from, to);
    }
  }

  #grow(size: number): void {
    if (this.#isShared || size > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(size, this.#size * 2));
      larger.set(this.#bytes.subarray(0, this.#size));
      this.#bytes = larger;
      this.#isShared = false;
    }
    this.#size = Math.max(this.#size, size);
  }
}

/** The unit of a device write, in bytes. */
const sectorSize = 512;

/** The content of sectors that did not reach the device: zeros, older data, or the end of the file. */
export type Fill = "zeros" | "stale" | "nothing";

/** The sectors of a write that reached the device. */
interface Tear {
  readonly kept: readonly boolean[];
  readonly fill: Fill;
}

/** The effect of a crash on a mutation that was not durable. */
export type WriteOutcome = "kept" | "lost" | Tear;

export function sectorsOf(offset: number, length: number): number {
  return length === 0 ? 0 : Math.floor((offset + length - 1) / sectorSize) - Math.floor(offset / sectorSize) + 1;
}

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

  /** Returns which of the first `count` mutations a power loss at this point may undo, in order. */
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

/** A name in a directory. Files are identified by number, because a file may have several names or none. */
interface FolderEntry {
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
