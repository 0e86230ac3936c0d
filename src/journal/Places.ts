import type { Place } from "../checkpoint/records/SnapshotRecord.ts";

/** Places by name. Keeps changes separate from the map that was read, so that it copies no entries. */
export class Places {
  readonly #read: ReadonlyMap<string, Place>;
  readonly #changed = new Map<string, Place | undefined>();

  constructor(read: ReadonlyMap<string, Place>) {
    this.#read = read;
  }

  get(name: string): Place | undefined {
    return this.#changed.has(name) ? this.#changed.get(name) : this.#read.get(name);
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  set(name: string, place: Place): void {
    this.#changed.set(name, place);
  }

  delete(name: string): void {
    this.#changed.set(name, undefined);
  }

  *entries(): Generator<readonly [name: string, place: Place]> {
    for (const entry of this.#read) if (!this.#changed.has(entry[0])) yield entry;
    for (const [name, place] of this.#changed) if (place) yield [name, place];
  }
}
