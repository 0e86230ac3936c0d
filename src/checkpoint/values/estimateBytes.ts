/** Estimates the length of a value as JSON text, which is at least a third of its bytes in UTF-8. */
export function estimateBytes(value: unknown): number {
  let sum = 0;
  // Uses a list and no recursion, because stored values can be nested deeper than the stack allows.
  const open: object[] = [];
  const add = (item: unknown): void => {
    if (typeof item === "string") sum += item.length + 2;
    else if (typeof item !== "object" || item === null) sum += 6;
    else open.push(item);
  };
  add(value);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    sum += 2;
    if (Array.isArray(next)) {
      sum += next.length;
      for (const item of next as readonly unknown[]) add(item);
    } else {
      for (const key of Object.keys(next)) {
        sum += key.length + 4;
        add((next as Record<string, unknown>)[key]);
      }
    }
  }
  return sum;
}
