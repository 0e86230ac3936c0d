/** The maximum number of layers, because each lookup searches all layers. */
const mostLayers = 8;

const deleted = Symbol("deleted");

/** A map that another map can extend without copying it. Do not change it while the other map is in use. */
export class LayeredMap<Key, Value> {
  readonly #own = new Map<Key, Value | typeof deleted>();
  #below: LayeredMap<Key, Value> | undefined;
  #layers = 1;
  #size = 0;

  get size(): number {
    return this.#below ? this.#size : this.#own.size;
  }

  /** Whether {@link layered} copies all entries, in place of adding a layer. */
  get isCopied(): boolean {
    return this.#layers >= mostLayers;
  }

  /** Returns a map that starts with these entries. */
  layered(): LayeredMap<Key, Value> {
    const next = new LayeredMap<Key, Value>();
    if (this.isCopied) for (const [key, value] of this.entries()) next.set(key, value);
    else {
      next.#below = this;
      next.#layers = this.#layers + 1;
      next.#size = this.size;
    }
    return next;
  }

  get(key: Key): Value | undefined {
    const found = this.#find(key);
    return found === deleted ? undefined : found;
  }

  has(key: Key): boolean {
    return this.#below ? this.#find(key) !== deleted : this.#own.has(key);
  }

  /** Returns a value that the caller may change. A value of another layer is copied first. */
  own(key: Key, copy: (value: Value) => Value): Value | undefined {
    const own = this.#own.get(key);
    if (own !== undefined && own !== deleted) return own;
    const below = this.get(key);
    if (below === undefined) return undefined;
    const copied = copy(below);
    this.#own.set(key, copied);
    return copied;
  }

  set(key: Key, value: Value): void {
    if (this.#below && !this.has(key)) this.#size++;
    this.#own.set(key, value);
  }

  delete(key: Key): boolean {
    if (!this.#below) return this.#own.delete(key);
    if (!this.has(key)) return false;
    this.#size--;
    this.#own.set(key, deleted);
    return true;
  }

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
