import type { SessionStore } from "./SessionStore.ts";

const stores = new WeakMap<object, SessionStore>();

export function keepStore(session: object, store: SessionStore): void {
  stores.set(session, store);
}

export function storeOf(session: object): SessionStore | undefined {
  return stores.get(session);
}
