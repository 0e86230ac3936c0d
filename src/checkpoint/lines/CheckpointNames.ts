import type { NameRecord } from "../records/AgentRecord.ts";
import type { CheckpointPosition } from "../records/SnapshotRecord.ts";

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

/** Checkpoint positions by name. Changes are in a second map, so that the first map need not be copied. */
export class CheckpointPositions {
  readonly #read: ReadonlyMap<string, CheckpointPosition>;
  readonly #changed = new Map<string, CheckpointPosition | undefined>();

  constructor(read: ReadonlyMap<string, CheckpointPosition>) {
    this.#read = read;
  }

  get(name: string): CheckpointPosition | undefined {
    return this.#changed.has(name) ? this.#changed.get(name) : this.#read.get(name);
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  set(name: string, place: CheckpointPosition): void {
    this.#changed.set(name, place);
  }

  delete(name: string): void {
    this.#changed.set(name, undefined);
  }

  *entries(): Generator<readonly [name: string, place: CheckpointPosition]> {
    for (const entry of this.#read) if (!this.#changed.has(entry[0])) yield entry;
    for (const [name, place] of this.#changed) if (place) yield [name, place];
  }
}
