import type { SessionStore } from "./SessionStore.ts";

const stores = new WeakMap<object, SessionStore>();

/** Makes the store of a session known to the runs that use it. */
export function keepStore(session: object, store: SessionStore): void {
  stores.set(session, store);
}

/** The store of a session; `undefined` for a session of another kind. */
export function storeOf(session: object): SessionStore | undefined {
  return stores.get(session);
}
