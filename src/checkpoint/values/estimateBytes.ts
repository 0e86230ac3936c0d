/** A fast estimate of a JSON value's length in UTF-16 units: at least a third of its bytes in UTF-8. */
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
