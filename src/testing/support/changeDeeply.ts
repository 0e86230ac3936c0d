/** Changes every mutable part of a value, like a careless caller. */
export function changeDeeply(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  if (value instanceof Uint8Array) return void value.fill(0x21);
  for (const key of Object.keys(value)) {
    if (Object.hasOwn(value, key)) changeDeeply((value as Record<string, unknown>)[key]);
    Reflect.defineProperty(value, key, { value: "changed by the test", writable: true, enumerable: true });
  }
  Reflect.set(value, Array.isArray(value) ? value.length : "added", "added by the test");
}
