/** The groups of files that reach each other through their imports, each sorted. A file that imports itself is one. */
export function circlesIn(imports: ReadonlyMap<string, readonly string[]>): readonly (readonly string[])[] {
  const reached = new Map([...imports.keys()].map((file) => [file, reachableFrom(file, imports)]));
  const inCircle = [...imports.keys()].filter((file) => reached.get(file)?.has(file));
  const circles = new Map<string, readonly string[]>();
  for (const file of inCircle) {
    const circle = inCircle.filter((other) => reached.get(file)?.has(other) && reached.get(other)?.has(file));
    circles.set(circle.toSorted().join(" "), circle.toSorted());
  }
  return [...circles.values()];
}

function reachableFrom(start: string, imports: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const found = new Set<string>();
  const open = [start];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    for (const target of imports.get(file) ?? []) {
      if (found.has(target)) continue;
      found.add(target);
      open.push(target);
    }
  }
  return found;
}
