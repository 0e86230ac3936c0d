/** The length of a plain JSON value's text in UTF-16 units, roughly and cheaply: no less than a third of its bytes. */
export function estimateBytes(value: unknown): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return 6;
  let sum = 2;
  if (Array.isArray(value)) {
    for (const item of value) sum += 1 + estimateBytes(item);
    return sum;
  }
  for (const key of Object.keys(value)) sum += key.length + 4 + estimateBytes((value as Record<string, unknown>)[key]);
  return sum;
}
