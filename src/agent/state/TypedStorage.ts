import { frozenCopy, copyMutableParts } from "../../internal/frozenCopy.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import type { AgentStorage } from "../context/AgentContext.ts";
import type { StorageKey } from "../context/StorageKey.ts";

const unchanged: ReadonlyMap<string, undefined> = new Map();

export class TypedStorage implements AgentStorage {
  readonly #values: Map<string, unknown>;
  readonly #checkedBy = new Map<string, unknown>();
  #changed = new Set<string>();
  #watched = new Set<string>();
  #atMark: ReadonlyMap<string, unknown> | undefined;

  /** @param values Frozen values, each validated when it is first read. */
  constructor(values: ReadonlyMap<string, unknown> = new Map()) {
    this.#values = new Map(values);
  }

  get values(): ReadonlyMap<string, unknown> {
    return this.#values;
  }

  /** Makes {@link valuesAtMark} return the current values. They are copied only when a value changes. */
  mark(): void {
    this.#atMark = undefined;
  }

  get valuesAtMark(): ReadonlyMap<string, unknown> {
    return this.#atMark ?? this.#values;
  }

  get<Value>(key: StorageKey<Value>): Value | undefined {
    if (!this.#values.has(key.name)) return undefined;
    if (this.#checkedBy.get(key.name) !== key.schema) this.#check(key, this.#values.get(key.name), "stored value");
    return copyMutableParts(this.#values.get(key.name)) as Value;
  }

  set<Value>(key: StorageKey<Value>, value: NoInfer<Value>): void {
    this.#atMark ??= new Map(this.#values);
    this.#check(key, value, "value");
    this.#changed.add(key.name);
    this.#watched.add(key.name);
  }

  delete(key: Pick<StorageKey<unknown>, "name">): void {
    this.#watched.add(key.name);
    if (!this.#values.has(key.name)) return;
    this.#atMark ??= new Map(this.#values);
    this.#values.delete(key.name);
    this.#checkedBy.delete(key.name);
    this.#changed.add(key.name);
  }

  replace(changes: ReadonlyMap<string, { readonly value: unknown } | undefined>): void {
    if (changes.size > 0) this.#atMark ??= new Map(this.#values);
    for (const [name, change] of changes) {
      if (change) this.#values.set(name, change.value);
      else this.#values.delete(name);
      this.#checkedBy.delete(name);
      this.#changed.add(name);
      this.#watched.add(name);
    }
  }

  become(values: ReadonlyMap<string, unknown>): void {
    const gone = [...this.#values.keys()].filter((name) => !values.has(name));
    const changed = [...values].filter(([name, value]) => !Object.is(this.#values.get(name), value));
    this.replace(
      new Map([
        ...gone.map((name) => [name, undefined] as const),
        ...changed.map(([name, value]) => [name, { value }] as const),
      ]),
    );
  }

  /** Returns a set that collects the keys that are set or deleted until the next call. */
  watch(): ReadonlySet<string> {
    return (this.#watched = new Set());
  }

  /** Returns the changes since the last call: the new value of each key, or `undefined` for a deleted key. */
  takeChanges(): ReadonlyMap<string, { readonly value: unknown } | undefined> {
    const changed = this.#changed;
    if (changed.size === 0) return unchanged;
    this.#changed = new Set();
    return new Map(
      [...changed].map((name) => [name, this.#values.has(name) ? { value: this.#values.get(name) } : undefined]),
    );
  }

  #check<Value>(key: StorageKey<Value>, value: unknown, what: string): void {
    this.#values.set(key.name, frozenCopy(checkSchema(key.schema, value, `${what} of storage key "${key.name}"`)));
    this.#checkedBy.set(key.name, key.schema);
  }
}
