/** Deletes the oldest keys until at most a number of them is left. */
export function deleteOldest<Key>(keys: Map<Key, unknown> | Set<Key>, most: number): void {
  for (const oldest of keys.keys()) {
    if (keys.size <= most) return;
    keys.delete(oldest);
  }
}
