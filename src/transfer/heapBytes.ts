const objectBytes = 24;
const slotBytes = 8;

/** Estimates the memory that a JSON value takes, in bytes. */
export function heapBytes(value: unknown): number {
  let sum = 0;
  // A list instead of recursion, because stored values can be nested deeper than the stack allows.
  const open = [value];
  while (open.length > 0) {
    const next = open.pop();
    sum += slotBytes;
    if (typeof next === "string") sum += objectBytes + 2 * next.length;
    else if (typeof next === "object" && next !== null) {
      sum += objectBytes;
      for (const item of Array.isArray(next) ? (next as readonly unknown[]) : Object.values(next)) open.push(item);
    }
  }
  return sum;
}
