import type { ScannedFile } from "./Scan.ts";

type KnownFile = readonly [path: string, file: ScannedFile];

/**
 * The files of the previous scan. The next scan mostly finds them in the same order, so few lookups by path are needed.
 */
export class KnownFiles {
  readonly #files: ReadonlyMap<string, ScannedFile>;
  readonly #inOrder: Iterator<[string, ScannedFile]>;
  #next: KnownFile | undefined;

  constructor(files: ReadonlyMap<string, ScannedFile>) {
    this.#files = files;
    this.#inOrder = files.entries();
    this.#advance();
  }

  /** @param folder the part of the path before the name */
  find(path: string, folder: string, name: string): KnownFile | undefined {
    const next = this.#next;
    if (next && isAt(next[0], folder, name)) {
      this.#advance();
      return next;
    }
    const file = this.#files.get(path);
    if (!file) return undefined;
    while (this.#next && this.#next[0] !== path) this.#advance();
    this.#advance();
    return [path, file];
  }

  #advance(): void {
    const { done, value } = this.#inOrder.next();
    this.#next = done ? undefined : value;
  }
}

function isAt(path: string, folder: string, name: string): boolean {
  return path.length === folder.length + name.length && path.endsWith(name) && path.startsWith(folder);
}
