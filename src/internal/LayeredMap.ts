/** More layers than this are copied into one: each look-up goes through them. */
const mostLayers = 8;

const deleted = Symbol("deleted");

/** A map that another can continue without a copy. While the other is in use, this one must not change. */
export class LayeredMap<Key, Value> {
  readonly #own = new Map<Key, Value | typeof deleted>();
  #below: LayeredMap<Key, Value> | undefined;
  #layers = 1;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Whether the next layer is a copy. */
  get isCopied(): boolean {
    return this.#layers >= mostLayers;
  }

  /** Another map that begins with what this one has. */
  layered(): LayeredMap<Key, Value> {
    const next = new LayeredMap<Key, Value>();
    if (this.isCopied) for (const [key, value] of this.entries()) next.set(key, value);
    else {
      next.#below = this;
      next.#layers = this.#layers + 1;
      next.#size = this.#size;
    }
    return next;
  }

  get(key: Key): Value | undefined {
    const found = this.#find(key);
    return found === deleted ? undefined : found;
  }

  has(key: Key): boolean {
    return this.#find(key) !== deleted;
  }

  set(key: Key, value: Value): void {
    if (!this.has(key)) this.#size++;
    this.#own.set(key, value);
  }

  delete(key: Key): boolean {
    if (!this.has(key)) return false;
    this.#size--;
    if (this.#below) this.#own.set(key, deleted);
    else this.#own.delete(key);
    return true;
  }

  /** A copy of all that is in it, in no order. */
  entries(): ReadonlyMap<Key, Value> {
    const all = new Map(this.#below?.entries());
    for (const [key, value] of this.#own)
      if (value === deleted) all.delete(key);
      else all.set(key, value);
    return all;
  }

  #find(key: Key): Value | typeof deleted {
    const found = this.#own.get(key);
    if (found !== undefined || this.#own.has(key)) return found as Value | typeof deleted;
    return this.#below ? this.#below.#find(key) : deleted;
  }
}
