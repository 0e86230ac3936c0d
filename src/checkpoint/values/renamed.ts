type Names = Readonly<Record<string, string>>;

export function renamed(name: string, renames: readonly Names[]): string {
  return renames.reduce((now, names) => (Object.hasOwn(names, now) ? (names[now] ?? now) : now), name);
}

/** Applies consecutive renames to a path. Each rename step applies the innermost match. */
export function renamedPath(path: string, renames: readonly Names[]): string {
  return renames.reduce(renamedOnce, path);
}

function renamedOnce(path: string, names: Names): string {
  for (let end = path.length; end > 0; end = path.lastIndexOf("/", end - 1)) {
    const around = path.slice(0, end);
    if (Object.hasOwn(names, around)) return `${names[around]}${path.slice(end)}`;
  }
  return path;
}
