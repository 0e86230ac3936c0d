import type { SessionStore } from "./SessionStore.ts";

const stores = new WeakMap<object, SessionStore>();

/** Registers the store of a session for durable runs. */
export function keepStore(session: object, store: SessionStore): void {
  stores.set(session, store);
}

/** Returns the store of a session, or `undefined` for a foreign session. */
export function storeOf(session: object): SessionStore | undefined {
  return stores.get(session);
}
