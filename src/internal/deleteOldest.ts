/** From this size on, the search for the oldest key is slow, because the search passes the places of deleted keys. */
const large = 4_096;

/**
 * Deletes the oldest keys of a collection with more than `most` keys until `most` are left. A large collection also
 * loses a sixteenth of its keys, so that few calls delete keys.
 */
export function deleteOldest<Key>(keys: Map<Key, unknown> | Set<Key>, most: number): void {
  if (keys.size <= most) return;
  const kept = most < large ? most : most - (most >> 4);
  for (const oldest of keys.keys()) {
    if (keys.size <= kept) return;
    keys.delete(oldest);
  }
}

/** Sets a key as the newest one, and deletes the oldest keys like {@link deleteOldest}. */
export function setNewest<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, most: number): void {
  map.delete(key);
  map.set(key, value);
  deleteOldest(map, most);
}

/** Adds a key as the newest one, and deletes the oldest keys like {@link deleteOldest}. Returns whether it is new. */
export function addNewest<Key>(keys: Set<Key>, key: Key, most: number): boolean {
  const isNew = !keys.delete(key);
  keys.add(key);
  deleteOldest(keys, most);
  return isNew;
}
