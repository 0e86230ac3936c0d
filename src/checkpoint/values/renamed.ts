type Names = Readonly<Record<string, string>>;

/** A name after several renames, one after the other. */
export function renamed(name: string, renames: readonly Names[]): string {
  return renames.reduce((now, names) => (Object.hasOwn(names, now) ? (names[now] ?? now) : now), name);
}

/** A path after several renames of it or of what is around it; of each, the innermost one counts. */
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
