/** Estimates the length of a JSON value in UTF-16 units. The result is at least a third of its bytes in UTF-8. */
export function estimateBytes(value: unknown): number {
  let sum = 0;
  // A list instead of recursion, because stored values can be nested deeper than the stack allows.
  const open = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === "string") sum += next.length + 2;
    else if (typeof next !== "object" || next === null) sum += 6;
    else if (Array.isArray(next)) {
      sum += 2 + next.length;
      for (const item of next as readonly unknown[]) open.push(item);
    } else {
      sum += 2;
      for (const key of Object.keys(next)) {
        sum += key.length + 4;
        open.push((next as Record<string, unknown>)[key]);
      }
    }
  }
  return sum;
}
