/** Deletes the oldest keys until at most `most` keys are left. */
export function deleteOldest<Key>(keys: Map<Key, unknown> | Set<Key>, most: number): void {
  for (const oldest of keys.keys()) {
    if (keys.size <= most) return;
    keys.delete(oldest);
  }
}
