import type { NameRecord } from "../records/AgentRecord.ts";

export class CheckpointNames {
  readonly #versions = new Map<string, number>();
  readonly #names = new Map<number, string>();

  get size(): number {
    return this.#versions.size;
  }

  /** Gives a checkpoint a name. Removes its earlier name, and takes the new name from any other checkpoint. */
  add({ name, version }: Pick<NameRecord, "name" | "version">): void {
    this.#remove(name);
    if (version === undefined) return;
    const before = this.#names.get(version);
    if (before !== undefined) this.#remove(before);
    this.#versions.set(name, version);
    this.#names.set(version, name);
  }

  versionOf(name: string): number | undefined {
    return this.#versions.get(name);
  }

  nameOf(version: number): string | undefined {
    return this.#names.get(version);
  }

  entries(): IterableIterator<[name: string, version: number]> {
    return this.#versions.entries();
  }

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
