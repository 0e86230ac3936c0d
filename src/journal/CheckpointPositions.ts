import type { CheckpointPosition } from "../checkpoint/records/SnapshotRecord.ts";

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
