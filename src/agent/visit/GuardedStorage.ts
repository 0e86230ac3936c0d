import type { AgentStorage } from "../context/AgentContext.ts";
import type { StorageKey } from "../context/StorageKey.ts";
import type { Visit } from "./Visit.ts";

/** The storage of a run as one context sees it: closed when the run has left its node. */
export class GuardedStorage implements AgentStorage {
  readonly #visit: Visit;

  constructor(visit: Visit) {
    this.#visit = visit;
  }

  get<Value>(key: StorageKey<Value>): Value | undefined {
    return this.#storage.get(key);
  }

  set<Value>(key: StorageKey<Value>, value: NoInfer<Value>): void {
    this.#storage.set(key, value);
  }

  delete(key: Pick<StorageKey<unknown>, "name">): void {
    this.#storage.delete(key);
  }

  get #storage(): AgentStorage {
    this.#visit.assertOpen();
    return this.#visit.state.storage;
  }
}
