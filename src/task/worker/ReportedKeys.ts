import { deleteOldest } from "../../internal/deleteOldest.ts";

const most = 100_000;

/** The keys that a worker has reported. Forgets the oldest keys, so that a worker can run for years. */
export class ReportedKeys {
  readonly #keys = new Set<string>();

  /** Returns whether the key is new. */
  add(key: string): boolean {
    const isNew = !this.#keys.delete(key);
    this.#keys.add(key);
    deleteOldest(this.#keys, most);
    return isNew;
  }
}
