import type { NameRecord } from "../records/NameRecord.ts";

/** The names that checkpoints were given after they were made. A checkpoint has one at most, and a name one checkpoint. */
export class CheckpointNames {
  readonly #versions = new Map<string, number>();
  readonly #names = new Map<number, string>();

  get size(): number {
    return this.#versions.size;
  }

  /** Both the name and the checkpoint lose what they had before. */
  add({ name, version }: Pick<NameRecord, "name" | "version">): void {
    this.#remove(name);
    if (version === undefined) return;
    const before = this.#names.get(version);
    if (before !== undefined) this.#remove(before);
    this.#versions.set(name, version);
    this.#names.set(version, name);
  }

  /** The version of the checkpoint with a name; `undefined`: none has it. */
  versionOf(name: string): number | undefined {
    return this.#versions.get(name);
  }

  /** `undefined`: the checkpoint has no name. */
  nameOf(version: number): string | undefined {
    return this.#names.get(version);
  }

  /** Each name with the version of its checkpoint. */
  entries(): IterableIterator<[name: string, version: number]> {
    return this.#versions.entries();
  }

  /** The versions of the checkpoints with a name. */
  versions(): IterableIterator<number> {
    return this.#names.keys();
  }

  #remove(name: string): void {
    const version = this.#versions.get(name);
    if (version === undefined) return;
    this.#versions.delete(name);
    this.#names.delete(version);
  }
}
