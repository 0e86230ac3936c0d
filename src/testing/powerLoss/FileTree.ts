import { FileContent, type WriteOutcome } from "./FileContent.ts";
import type { FolderEntry, Mutation } from "./MutationTrace.ts";
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

const known = new Map<string, readonly string[]>();

/** Caches the parts of recent paths. The number is limited, because temporary files have new paths. */
function partsOf(path: string): readonly string[] {
  const found = known.get(path);
  if (found !== undefined) return found;
  const parts = path
    .replaceAll("\\", "/")
    .split("/")
    .filter((part) => part !== "");
  if (known.size > 1_000) known.clear();
  known.set(path, parts);
  return parts;
}
