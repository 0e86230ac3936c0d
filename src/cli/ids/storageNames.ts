import type { PersistenceStorageProvider } from "../../storage/PersistenceStorageProvider.ts";

const names = new WeakMap<PersistenceStorageProvider, string>();

/** Remembers the display name of a storage for messages. */
export function nameStorage(storage: PersistenceStorageProvider, name: string): void {
  names.set(storage, name);
}

/** Returns ` in <name>` for messages. Empty for a storage that an agent's code opened. */
export function inStorage(storage: PersistenceStorageProvider): string {
  const name = names.get(storage);
  return name === undefined ? "" : ` in ${name}`;
}
